/* gguf.c - GGUF headers, bad ones of every kind, and blocks against ggml's bits. */
#include "io/gguf/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "base/ctx.h"
#include "op/util/ggml.h"
#include "util/gguf_file.h"
#include "util/inject.h"

static takt_ctx *ctx;

/* ---- headers ---- */

static takt_status parse(const gguf_file *f, takt_arena *arena, takt_gguf *g)
{
    return takt_gguf_parse(arena, "f.gguf", f->bytes, f->length, f->length, g);
}

static void expect(const gguf_file *f, int id, const char *words)
{
    takt_arena arena;
    takt_gguf g;
    takt_arena_init(&arena, ctx);
    const takt_status status = parse(f, &arena, &g);
    if (words == NULL)
        EXPECT(status == TAKT_OK, "%s", takt_last_error(ctx));
    else
        EXPECT(status != TAKT_OK && strstr(takt_last_error(ctx), words) != NULL &&
                   takt_last_error_info(ctx)->id == id,
               "\"%s\": %s", words, status == TAKT_OK ? "was read" : takt_last_error(ctx));
    takt_arena_deinit(&arena);
}

/* A valid file with one key of each kind and two tensors. */
static void valid(gguf_file *f)
{
    gguf_begin(f, 3, 2, 4);
    gguf_key_text(f, "general.architecture", "llama");
    gguf_key_u32(f, "llama.block_count", 5);
    gguf_key_head(f, "list", TAKT_GGUF_ARRAY);
    gguf_u32(f, TAKT_GGUF_STRING);
    gguf_u64(f, 2);
    gguf_text(f, "a");
    gguf_text(f, "");
    gguf_key_head(f, "is", TAKT_GGUF_BOOL);
    gguf_u8(f, 1);
    gguf_tensor(f, "a", 0, 2, (const uint64_t[]){3, 2}, 0);
    gguf_tensor(f, "b", 8, 1, (const uint64_t[]){64}, 32);
    gguf_pad(f, 32);
    gguf_zeros(f, 32 + 68);
}

static void good(void)
{
    gguf_file f;
    takt_arena arena;
    takt_gguf g;
    int64_t n = 0;
    bool is = false;
    takt_span text = {"", 0};
    takt_arena_init(&arena, ctx);
    valid(&f);
    if (!EXPECT_OK(ctx, parse(&f, &arena, &g)))
        return;
    EXPECT_EQ(g.version, 3);
    EXPECT_EQ(g.value_count, 4);
    EXPECT_EQ(g.tensor_count, 2);
    EXPECT_OK(ctx, takt_gguf_get_integer(&g, "llama.block_count", &n));
    EXPECT_OK(ctx, takt_gguf_get_bool(&g, "is", &is));
    EXPECT_OK(ctx, takt_gguf_get_text(&g, "general.architecture", &text));
    EXPECT(n == 5 && is && takt_span_is(text, "llama"));
    EXPECT_STATUS(ctx, takt_gguf_get_integer(&g, "is", &n), TAKT_ERR_FORMAT);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_GGUF_MODEL);
    EXPECT_STATUS(ctx, takt_gguf_get_text(&g, "list", &text), TAKT_ERR_FORMAT);
    EXPECT(takt_gguf_find(&g, "list")->count == 2 && takt_gguf_find(&g, "none") == NULL);
    const takt_gguf_tensor *a = takt_gguf_tensor_find(&g, "a"), *b = takt_gguf_tensor_find(&g, "b");
    EXPECT_EQ(a->rank, 2);
    EXPECT_EQ(a->dims[0], 2);
    EXPECT_EQ(a->dims[1], 3);
    EXPECT_EQ(a->bytes, 24);
    EXPECT_EQ(b->bytes, 68);
    EXPECT_EQ(b->offset, a->offset + 32);
    /* Every prefix of it is refused, or needs more if more is announced. */
    for (size_t have = 0; have < f.length; have++) {
        takt_gguf part;
        EXPECT_STATUS(NULL, takt_gguf_parse(&arena, "f", f.bytes, have, have, &part),
                      TAKT_ERR_FORMAT);
        EXPECT(have < 4 || takt_gguf_parse(&arena, "f", f.bytes, have, f.length, &part) == TAKT_OK);
    }
    takt_arena_deinit(&arena);
}

/* The number at `at` of a valid file replaced. */
static void change(size_t at, uint64_t value, size_t width, int id, const char *words)
{
    gguf_file f;
    valid(&f);
    for (size_t i = 0; i < width; i++)
        f.bytes[at + i] = (uint8_t)(value >> 8 * i);
    expect(&f, id, words);
}

static void headers(void)
{
    change(0, 'X', 1, TAKT_E_GGUF, "not a GGUF file");
    change(4, 0, 4, TAKT_E_GGUF_UNSUPPORTED, "impossible");
    change(4, 1, 4, TAKT_E_GGUF_UNSUPPORTED, "version 1");
    change(4, 2, 4, 0, NULL);
    change(4, 4, 4, TAKT_E_GGUF_UNSUPPORTED, "version 4");
    change(4, 0x03000000, 4, TAKT_E_GGUF_UNSUPPORTED, "big-endian");
    change(8, UINT64_MAX, 8, TAKT_E_GGUF, "room for");
    change(8, UINT64_C(1) << 63, 8, TAKT_E_GGUF, "room for");
    change(16, UINT64_C(1) << 63, 8, TAKT_E_GGUF, "room for");
    change(24, UINT64_MAX, 8, TAKT_E_GGUF, "longer than the file");
    change(24, 0, 8, TAKT_E_GGUF, "1 to");
    change(32, 0, 1, TAKT_E_GGUF, "NUL");
    change(32, 0xFF, 1, TAKT_E_GGUF, "UTF-8");
    change(52, 13, 4, TAKT_E_GGUF, "unknown type 13");
    change(52, 0xFFFFFFFF, 4, TAKT_E_GGUF, "unknown type");
}

static void keys(void)
{
    gguf_file f;
    gguf_begin(&f, 3, 0, 2);
    gguf_key_u32(&f, "a", 1);
    gguf_key_u32(&f, "a", 1);
    expect(&f, TAKT_E_GGUF, "twice");
    gguf_begin(&f, 3, 0, 1);
    gguf_key_head(&f, "a", TAKT_GGUF_ARRAY);
    gguf_u32(&f, TAKT_GGUF_ARRAY);
    gguf_u64(&f, 1);
    gguf_zeros(&f, 64);
    expect(&f, TAKT_E_GGUF, "array of arrays");
    static const uint32_t kinds[] = {TAKT_GGUF_U8, TAKT_GGUF_STRING, TAKT_GGUF_F64};
    for (size_t i = 0; i < 3; i++) {
        gguf_begin(&f, 3, 0, 1);
        gguf_key_head(&f, "a", TAKT_GGUF_ARRAY);
        gguf_u32(&f, kinds[i]);
        gguf_u64(&f, UINT64_C(1) << 61);
        expect(&f, TAKT_E_GGUF, "room for");
    }
    gguf_begin(&f, 3, 0, 1);
    gguf_key_head(&f, "a", TAKT_GGUF_BOOL);
    gguf_u8(&f, 0x7F);
    expect(&f, TAKT_E_GGUF, "bool");
    static const uint32_t alignments[] = {0, 3, 1 << 30, UINT32_C(1) << 31};
    for (size_t i = 0; i < 4; i++) {
        gguf_begin(&f, 3, 0, 1);
        gguf_key_u32(&f, "general.alignment", alignments[i]);
        expect(&f, TAKT_E_GGUF, "power of two");
    }
    gguf_begin(&f, 3, 0, 1);
    gguf_key_text(&f, "general.alignment", "32");
    expect(&f, TAKT_E_GGUF, "32-bit number");
}

typedef struct row {
    const char *name;
    uint32_t type, rank;
    uint64_t dims[5], offset;
    const char *words;
} row;

static void tensors(void)
{
    static const row rows[] = {
        {"", 0, 1, {4}, 0, "1 to 63"},
        {"0123456789012345678901234567890123456789012345678901234567890123",
         0,
         1,
         {4},
         0,
         "1 to 63"},
        {"t", 0, 0, {4}, 0, "dimensions"},
        {"t", 0, 5, {1, 1, 1, 1, 1}, 0, "dimensions"},
        {"t", 0, UINT32_MAX, {4}, 0, "dimensions"},
        {"t", 0, 1, {0}, 0, "impossible size"},
        {"t", 0, 1, {UINT64_MAX}, 0, "impossible size"},
        {"t", 0, 2, {(UINT64_C(1) << 42) + 1, UINT64_C(1) << 22}, 0, "impossible size"},
        {"t", 0, 2, {UINT64_C(1) << 40, 4}, 0, "too large"},
        {"t", 2, 1, {33}, 0, "whole blocks of 32"},
        {"t", 12, 1, {32}, 0, "whole blocks of 256"},
        {"t", 4, 1, {32}, 0, "removed type 4"},
        {"t", 255, 1, {32}, 0, "removed type 255"},
        {"t", UINT32_MAX, 1, {32}, 0, "removed type"},
        {"t", 0, 1, {4}, 1, "not aligned"},
        {"t", 0, 1, {4}, 64, "hole"},
        {"t", 0, 1, {4}, UINT64_MAX - 31, "hole"},
        {"t", 0, 1, {4096}, 0, "beyond the file"},
        {"t", 0, 1, {4}, 0, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_file f;
        const row *r = &rows[i];
        gguf_begin(&f, 3, 1, 0);
        gguf_tensor(&f, r->name, r->type, r->rank, r->dims, r->offset);
        gguf_pad(&f, 32);
        gguf_zeros(&f, 64);
        expect(&f, TAKT_E_GGUF, r->words);
    }
    gguf_file f;
    gguf_begin(&f, 3, 2, 0);
    gguf_tensor(&f, "a", 0, 1, (const uint64_t[]){8}, 0);
    gguf_tensor(&f, "a", 0, 1, (const uint64_t[]){8}, 32);
    gguf_zeros(&f, 128);
    expect(&f, TAKT_E_GGUF, "twice");
    gguf_begin(&f, 3, 2, 0);
    gguf_tensor(&f, "a", 0, 1, (const uint64_t[]){8}, 0);
    gguf_tensor(&f, "b", 0, 1, (const uint64_t[]){8}, 0);
    gguf_zeros(&f, 128);
    expect(&f, TAKT_E_GGUF, "overlap");
}

/* ---- blocks ---- */

static void *whole(const char *folder, const char *name, size_t *length)
{
    char path[1024];
    const char *data = getenv("TAKT_DATA");
    snprintf(path, sizeof path, "%s/%s/%s", data != NULL ? data : "../shared/data", folder, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    fseek(f, 0, SEEK_END);
    *length = (size_t)ftell(f);
    rewind(f);
    void *bytes = malloc(*length);
    if (fread(bytes, 1, *length, f) != *length)
        exit(EXIT_FAILURE);
    fclose(f);
    return bytes;
}

static void shared_blocks(void)
{
    static const struct {
        uint32_t type;
        const char *name;
    } files[] = {{2, "q4_0"}, {3, "q4_1"}, {8, "q8_0"}, {12, "q4_K"}, {14, "q6_K"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const takt_gguf_type *type = takt_gguf_type_of(files[i].type);
        char name[32];
        size_t length, floats, wrong = 0;
        float block[256];
        snprintf(name, sizeof name, "%s.bin", files[i].name);
        uint8_t *packed = whole("quant/ggml", name, &length);
        snprintf(name, sizeof name, "%s.f32", files[i].name);
        float *want = whole("quant/ggml", name, &floats);
        if (packed == NULL || want == NULL) {
            printf("skipped: quant/ggml/%s is not there\n", name);
            continue;
        }
        const size_t count = floats / sizeof(float) / type->elements;
        EXPECT_EQ(length, count * type->bytes);
        EXPECT_IS(count, >, 0);
        for (size_t b = 0; b < count; b++) {
            takt_ggml_decode(takt_gguf_format(type), packed + b * type->bytes, 1, block);
            wrong += memcmp(block, want + b * type->elements, type->elements * sizeof(float)) != 0;
        }
        EXPECT(wrong == 0, "%s: %zu of %zu blocks differ", type->name, wrong, count);
        free(packed);
        free(want);
    }
}

/* Bits of known blocks, by gguf-py's quants on bytes (7 * i + 3) % 251, f16 scales 0x2E66. */
static void known_blocks(void)
{
    static const struct {
        uint32_t type;
        size_t scales[2];
        uint32_t hash;
    } rows[] = {
#include "unit/gguf_blocks.inc"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const takt_gguf_type *type = takt_gguf_type_of(rows[i].type);
        uint8_t block[512];
        float out[256];
        uint32_t hash = 2166136261u;
        for (size_t k = 0; k < type->bytes; k++)
            block[k] = (uint8_t)((7 * k + 3) % 251);
        for (size_t k = 0; k < 2 && rows[i].scales[k] != SIZE_MAX; k++) {
            block[rows[i].scales[k]] = 0x66;
            block[rows[i].scales[k] + 1] = 0x2E;
        }
        const takt_ggml_format format = takt_gguf_format(type);
        if (!EXPECT(format < TAKT_GGML_FORMATS && takt_ggml_formats[format].bytes == type->bytes &&
                        takt_ggml_formats[format].weights == type->elements,
                    "%s", type->name))
            continue;
        takt_ggml_decode(format, block, 1, out);
        for (size_t k = 0; k < type->elements * sizeof(float); k++)
            hash = (hash ^ ((const uint8_t *)out)[k]) * 16777619u;
        EXPECT(hash == rows[i].hash, "%s: 0x%08x", type->name, hash);
    }
}

/* ---- memory ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_arena arena;
    takt_gguf g;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    takt_arena_init(&arena, own);
    status = parse(user, &arena, &g);
    takt_arena_deinit(&arena);
    takt_ctx_destroy(own);
    return status;
}

static void memory(void)
{
    gguf_file f;
    valid(&f);
    const takt_sweep_report r = takt_sweep(scenario, &f, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

static void begin(void)
{
    const takt_config config = {.limits.tensor_bytes = UINT64_C(1) << 40};
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, good, headers, keys, tensors, shared_blocks, known_blocks, memory, end)
