/* fz_json.c - any bytes as JSON: two readings agree, what was written reads back as the same. */
#include "base/hash.h"
#include "base/json.h"
#include "fuzz/target.h"
#include "util/meter.h"

/* Every value is reached by traversal, and every member is found by its key, which is unique. */
static uint32_t walk(const takt_json *container)
{
    uint32_t seen = 1;
    for (const takt_json *v = takt_json_first(container); v != NULL; v = takt_json_next(v)) {
        if (container->kind == TAKT_JSON_OBJECT)
            must(container->count > 64 || takt_json_get(container, v->key) == v);
        seen += v->size;
    }
    must(takt_json_get(container, "\xff") == NULL); /* no key has this name */
    return seen;
}

static uint64_t digest(const takt_json *root)
{
    uint64_t h = 0;
    for (uint32_t i = 0; root != NULL && i < root->size; i++) {
        const takt_json *v = &root[i];
        uint64_t bits;
        memcpy(&bits, &v->number, sizeof bits);
        h = takt_hash_word(h, (uint64_t)v->kind * 8 + v->boolean * 2u + v->is_integer);
        h = takt_hash_word(h, (uint64_t)v->count << 32 | v->size);
        h = takt_hash_word(h, bits ^ (uint64_t)v->integer);
        h = takt_hash_bytes(h, v->key, v->key != NULL ? strlen(v->key) : 0);
        h = takt_hash_bytes(h, v->text, v->text_length);
        must(v->text == NULL || v->text[v->text_length] == '\0');
        must(walk(v) == v->size);
    }
    return h;
}

/* False if a string holds a NUL, which the writer takes for its end. */
static bool can_be_written(const takt_json *root)
{
    for (uint32_t i = 0; i < root->size; i++) {
        if (root[i].text != NULL && strlen(root[i].text) != root[i].text_length)
            return false;
    }
    return true;
}

static void write_value(takt_json_writer *w, const takt_json *v)
{
    switch (v->kind) {
    case TAKT_JSON_NULL: takt_json_null(w); break;
    case TAKT_JSON_BOOL: takt_json_bool(w, v->boolean); break;
    case TAKT_JSON_STRING: takt_json_string(w, v->text); break;
    case TAKT_JSON_ARRAY: takt_json_open(w, '['); break;
    case TAKT_JSON_OBJECT: takt_json_open(w, '{'); break;
    case TAKT_JSON_NUMBER:
        if (v->is_integer && v->integer != 0)
            takt_json_integer(w, v->integer);
        else
            takt_json_number(w, v->number);
        break;
    }
}

static void write_all(takt_json_writer *w, const takt_json *root)
{
    uint32_t ends[32]; /* where the open containers end; the default depth */
    char brackets[32];
    int depth = 0;
    for (uint32_t i = 0; i < root->size; i++) {
        if (root[i].key != NULL)
            takt_json_key(w, root[i].key);
        write_value(w, &root[i]);
        if (root[i].kind == TAKT_JSON_ARRAY || root[i].kind == TAKT_JSON_OBJECT) {
            must(depth < 32);
            brackets[depth] = root[i].kind == TAKT_JSON_ARRAY ? ']' : '}';
            ends[depth++] = i + root[i].size;
        }
        while (depth > 0 && ends[depth - 1] == i + 1)
            takt_json_close(w, brackets[--depth]);
    }
    must(depth == 0);
}

static void check_writing(takt_ctx *ctx, const takt_json *root)
{
    for (int pretty = 0; pretty < 2; pretty++) {
        takt_text text;
        takt_json_writer w;
        takt_arena arena;
        const takt_json *again;
        takt_text_init(&text, ctx);
        takt_arena_init(&arena, ctx);
        takt_json_begin(&w, &text, pretty);
        write_all(&w, root);
        must(text.status == TAKT_OK);
        must(takt_json_parse(ctx, &arena, text.at, text.length, &again) == TAKT_OK);
        must(again->size == root->size);
        for (uint32_t i = 0; i < root->size; i++)
            must(again[i].kind == root[i].kind && again[i].number == root[i].number &&
                 again[i].text_length == root[i].text_length);
        takt_arena_deinit(&arena);
        takt_text_deinit(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    meter m = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&m);
    const takt_config config = {.allocator = &allocator, .limits.bytes = 1 << 30};
    takt_ctx *ctx;
    takt_arena first, second;
    const takt_json *a, *b;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    takt_arena_init(&first, ctx);
    takt_arena_init(&second, ctx);
    const char *text = (const char *)data;
    const takt_status status = takt_json_parse(ctx, &first, text, size, &a);
    must(m.peak <= 32 * size + 65536);
    must((status == TAKT_OK) == (a != NULL));
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    must(takt_json_parse(ctx, &second, text, size, &b) == status && digest(a) == digest(b));
    if (status == TAKT_OK && can_be_written(a))
        check_writing(ctx, a);
    takt_arena_deinit(&first);
    takt_arena_deinit(&second);
    takt_ctx_destroy(ctx);
    must(m.live == 0);
    return 0;
}
