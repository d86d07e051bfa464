/* json.c - JSON: good texts, every class of bad ones with its place, limits, writing, sweeps. */
#include "base/json_keys.h"

#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "test.h"
#include "util/inject.h"

static takt_ctx *ctx;
static takt_arena arena;

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_arena_init(&arena, ctx);
}

/* From a block of exactly the text's size, so that a sanitizer detects reads beyond it. */
static takt_status parse_bytes(const char *text, size_t length, const takt_json **root)
{
    char *copy = malloc(length != 0 ? length : 1);
    memcpy(copy, text, length);
    const takt_status status = takt_json_parse(ctx, &arena, copy, length, root);
    free(copy);
    return status;
}

static const takt_json *parse(const char *text)
{
    const takt_json *root;
    EXPECT_OK(ctx, parse_bytes(text, strlen(text), &root));
    return root;
}

static void structure(void)
{
    const takt_json *o = parse(" {\"a\": [1, [], {}, \"x\"], \"b\": {\"c\": null}, \"d\": true} ");
    EXPECT_EQ(o->kind, TAKT_JSON_OBJECT);
    EXPECT_EQ(o->count, 3);
    EXPECT_EQ(o->size, 9);
    EXPECT_EQ(o->offset, 1);
    const takt_json *a = takt_json_get(o, "a");
    EXPECT(a != NULL && a->kind == TAKT_JSON_ARRAY && a->count == 4 && a->size == 5);
    static const takt_json_kind kinds[] = {TAKT_JSON_NUMBER, TAKT_JSON_ARRAY, TAKT_JSON_OBJECT,
                                           TAKT_JSON_STRING};
    size_t i = 0;
    for (const takt_json *v = takt_json_first(a); v != NULL; v = takt_json_next(v), i++)
        EXPECT(i < 4 && v->kind == kinds[i], "%zu", i);
    EXPECT_EQ(i, 4);
    EXPECT(takt_json_first(a + 2) == NULL, "an empty array has no first");
    EXPECT_EQ(takt_json_get(takt_json_get(o, "b"), "c")->kind, TAKT_JSON_NULL);
    EXPECT(takt_json_get(o, "d")->boolean && takt_json_next(takt_json_get(o, "d")) == NULL);
    EXPECT(takt_json_get(o, "c") == NULL && takt_json_get(a, "a") == NULL);
    EXPECT(takt_json_get(NULL, "a") == NULL && takt_json_next(o) == NULL);
    EXPECT_EQ(parse("[[1],[2]]")->size, 5);
    EXPECT(!parse("false")->boolean && parse("null")->kind == TAKT_JSON_NULL);
}

static void numbers(void)
{
    const takt_json *v = parse("-9223372036854775808");
    EXPECT(v->is_integer);
    EXPECT_EQ(v->integer, INT64_MIN);
    EXPECT_EQ(v->number, -0x1p63);
    v = parse("9223372036854775807");
    EXPECT(v->is_integer);
    EXPECT_EQ(v->integer, INT64_MAX);
    v = parse("9223372036854775808");
    EXPECT(!v->is_integer);
    EXPECT_EQ(v->number, 0x1p63);
    v = parse("18446744073709551616");
    EXPECT(!v->is_integer);
    EXPECT_EQ(v->number, 0x1p64);
    v = parse("-0");
    EXPECT(v->is_integer && v->integer == 0 && signbit(v->number));
    v = parse("1.0");
    EXPECT(!v->is_integer);
    EXPECT_EQ(v->number, 1);
    EXPECT(parse("1e3")->number == 1000 && !parse("1e3")->is_integer);
    EXPECT_EQ(parse("0.1")->number, 0.1);
    EXPECT_EQ(parse("-1.5E-3")->number, -1.5e-3);
    EXPECT_EQ(parse("1e-999")->number, 0);
    EXPECT_EQ(parse("5e-324")->number, 5e-324);
}

static void strings(void)
{
    EXPECT_TEXT(parse("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"")->text, "a\"\\/\b\f\n\r\t");
    EXPECT_TEXT(parse("\"\\u00e9\\u20AC\\uD83D\\uDE00\"")->text,
                "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    EXPECT_TEXT(parse("\"\xC3\xA9\"")->text, "\xC3\xA9");
    const takt_json *v = parse("\"a\\u0000b\"");
    EXPECT_EQ(v->text_length, 3);
    EXPECT_EQ(memcmp(v->text, "a\0b", 4), 0);
    EXPECT_EQ(parse("\"\"")->text_length, 0);
    EXPECT_EQ(parse("\"\"")->text[0], '\0');
    EXPECT(parse("[\"{[,:\",\"\\\"\"]")->count == 2, "brackets in strings are letters");
}

typedef struct bad {
    const char *text;
    int line, column;
    const char *says; /* part of the message */
} bad;

static const bad cases[] = {
    {"", 1, 1, "the text ends"},
    {"   \n ", 2, 2, "the text ends"},
    {"[1,\n2,]", 2, 3, "a value"},
    {"{\"a\":1,}", 1, 8, "a key"},
    {"[1 2]", 1, 4, "',' or ']'"},
    {"{\"a\":1 \"b\":2}", 1, 8, "',' or '}'"},
    {"{\"a\" 1}", 1, 6, "':'"},
    {"{a:1}", 1, 2, "a key"},
    {"{1:1}", 1, 2, "a key"},
    {"[1}", 1, 3, "',' or ']'"},
    {"{\"a\":1]", 1, 7, "',' or '}'"},
    {"[", 1, 2, "a value"},
    {"{", 1, 2, "a key"},
    {"[1", 1, 3, "the text ends"},
    {"{\"a\":", 1, 6, "a value"},
    {"{\"a\"", 1, 5, "':'"},
    {"]", 1, 1, "a value"},
    {"1 2", 1, 3, "the end of the text"},
    {"{} x", 1, 4, "the end of the text"},
    {"[]\xFF", 1, 3, "0xFF"},
    {"\"abc", 1, 1, "never ends"},
    {"\"abc\\", 1, 5, "escape"},
    {"\"\\x\"", 1, 2, "escape"},
    {"\"\\u12\"", 1, 2, "four hexadecimal"},
    {"\"\\u12G4\"", 1, 2, "four hexadecimal"},
    {"\"\\uD800\"", 1, 2, "surrogate"},
    {"\"\\uDC00\"", 1, 2, "surrogate"},
    {"\"\\uD800\\u0041\"", 1, 2, "surrogate"},
    {"\"\\uD800\\uD800\"", 1, 2, "surrogate"},
    {"\"a\nb\"", 1, 3, "control character 0x0A"},
    {"\"a\x01\"", 1, 3, "control character 0x01"},
    {"\"\xC3\"", 1, 2, "not UTF-8"},
    {"\"\xC0\x80\"", 1, 2, "not UTF-8"},
    {"\"\xED\xA0\x80\"", 1, 2, "not UTF-8"},
    {"\xEF\xBB\xBF{}", 1, 1, "byte order mark"},
    {"0123", 1, 1, "not a JSON number"},
    {"-", 1, 1, "not a JSON number"},
    {"+1", 1, 1, "a value"},
    {".5", 1, 1, "a value"},
    {"1.", 1, 1, "not a JSON number"},
    {"1.e5", 1, 1, "not a JSON number"},
    {"1e", 1, 1, "not a JSON number"},
    {"1e+", 1, 1, "not a JSON number"},
    {"0x10", 1, 2, "the end of the text"},
    {"1e999", 1, 1, "too large"},
    {"[-1e999]", 1, 2, "too large"},
    {"NaN", 1, 1, "a value"},
    {"Infinity", 1, 1, "a value"},
    {"-Infinity", 1, 1, "not a JSON number"},
    {"nul", 1, 1, "a value"},
    {"True", 1, 1, "a value"},
    {"// c\n1", 1, 1, "no comments"},
    {"[1, /* c */ 2]", 1, 5, "no comments"},
    {"{\"a\":1,\"b\":2,\"a\":3}", 1, 14, "\"a\" appears twice"},
    {"{\"\\u0061\":1,\"a\":2}", 1, 13, "\"a\" appears twice"},
    {"{\"x\":{\"k\":1,\"k\":2}}", 1, 13, "\"k\" appears twice"},
    {"{\"a\\u0000b\":1}", 1, 2, "\\u0000"},
    {"{\"\xC3\xA9\":1,\n \"\xE2\x82\xAC\" 2}", 2, 6, "':'"},
};

static void refuses(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bad *b = &cases[i];
        const takt_json *root = (const takt_json *)&root;
        EXPECT_STATUS(ctx, parse_bytes(b->text, strlen(b->text), &root), TAKT_ERR_FORMAT);
        const takt_error *e = takt_last_error_info(ctx);
        EXPECT(root == NULL && e->id == TAKT_E_JSON, "%s", b->text);
        EXPECT(e->line == b->line && e->column == b->column, "%s: at %d:%d, expected %d:%d",
               b->text, e->line, e->column, b->line, b->column);
        EXPECT(strstr(e->message, b->says) != NULL, "%s: %s", b->text, e->message);
        EXPECT(e->offset >= 0 && (size_t)e->offset <= strlen(b->text), "%s", b->text);
    }
    const takt_json *root;
    EXPECT_STATUS(ctx, parse_bytes("[\0]", 3, &root), TAKT_ERR_FORMAT);
    EXPECT(parse("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":2}]}")->count == 2,
           "one key in several objects");
}

/* All proper prefixes of a text are errors, and none reads behind its end. */
static void prefixes(void)
{
    static const char text[] =
        "{\"a\\u00e9\": [1.5e-3, true, null, {\"b\": \"\\ud83d\\ude00\"}], \"c\": \"\xC3\xA9\"}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        const takt_json *root;
        EXPECT(parse_bytes(text, length, &root) == TAKT_ERR_FORMAT, "prefix of %zu", length);
    }
    EXPECT_EQ(parse(text)->count, 2);
}

static void depth(void)
{
    static char text[2000001];
    const takt_json *root;
    for (size_t levels = 31; levels <= 33; levels++) {
        memset(text, '[', levels);
        memset(text + levels, ']', levels);
        EXPECT_STATUS(ctx, parse_bytes(text, 2 * levels, &root),
                      levels <= 32 ? TAKT_OK : TAKT_ERR_LIMIT);
    }
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_NESTING);
    EXPECT_EQ(takt_last_error_info(ctx)->offset, 32);
    EXPECT_EQ(takt_last_error_info(ctx)->column, 33);
    memset(text, '[', 1000000);
    EXPECT_STATUS(ctx, parse_bytes(text, 1000000, &root), TAKT_ERR_LIMIT);
    for (size_t i = 0; i < 400000; i++)
        memcpy(text + 5 * i, "{\"a\":", 5);
    EXPECT_STATUS(ctx, parse_bytes(text, 2000000, &root), TAKT_ERR_LIMIT);
    takt_arena_deinit(&arena);
}

static void large(void)
{
    takt_text t;
    takt_text_init(&t, ctx);
    takt_text_add(&t, "{");
    for (int i = 0; i < 200000; i++)
        takt_text_add(&t, "%s\"key number %d\":%d", i > 0 ? "," : "", i, i);
    takt_text_add(&t, "}");
    const takt_json *o = parse(takt_text_get(&t));
    EXPECT(o != NULL && o->count == 200000 && o[200000].integer == 199999);
    EXPECT(ctx->live_bytes < 64 * (t.length + t.capacity), "memory is bounded by the text");
    takt_text_deinit(&t);
    takt_arena_deinit(&arena);

    static char digits[100001];
    const takt_json *root;
    memset(digits, '7', sizeof digits);
    EXPECT_STATUS(ctx, parse_bytes(digits, sizeof digits, &root), TAKT_ERR_FORMAT);
    digits[1] = '.';
    EXPECT_OK(ctx, parse_bytes(digits, sizeof digits, &root));
    EXPECT_IS(fabs(root->number - 7.777777777777778), <, 1e-15);
    takt_arena_deinit(&arena);
}

static void file_limit(void)
{
    const takt_config config = {.limits.file_bytes = 5};
    takt_ctx *small;
    const takt_json *root;
    EXPECT_OK(NULL, takt_ctx_create(&config, &small));
    takt_arena a;
    takt_arena_init(&a, small);
    EXPECT_OK(small, takt_json_parse(small, &a, "[1,2]", 5, &root));
    EXPECT_STATUS(small, takt_json_parse(small, &a, "[1,2] ", 6, &root), TAKT_ERR_LIMIT);
    EXPECT(takt_last_error_info(small)->id == TAKT_E_FILE_SIZE && root == NULL);
    takt_arena_deinit(&a);
    takt_ctx_destroy(small);
}

static void write_sample(takt_json_writer *w)
{
    takt_json_open(w, '{');
    takt_json_key(w, "a\"\n\x01");
    takt_json_open(w, '[');
    takt_json_integer(w, INT64_MIN);
    takt_json_unsigned(w, UINT64_MAX);
    takt_json_number(w, 0.1);
    takt_json_number(w, (double)NAN);
    takt_json_open(w, '{');
    takt_json_close(w, '}');
    takt_json_open(w, '[');
    takt_json_close(w, ']');
    takt_json_close(w, ']');
    takt_json_key(w, "s");
    takt_json_string(w, "\xC3\xA9\xFF\\");
    takt_json_key(w, "t");
    takt_json_bool(w, true);
    takt_json_key(w, "n");
    takt_json_null(w);
    takt_json_close(w, '}');
}

static void writes(void)
{
    takt_text t;
    takt_json_writer w;
    takt_text_init(&t, ctx);
    takt_json_begin(&w, &t, false);
    write_sample(&w);
    EXPECT(strcmp(takt_text_get(&t),
                  "{\"a\\\"\\n\\u0001\":[-9223372036854775808,18446744073709551615,0.1,null,{},[]],"
                  "\"s\":\"\xC3\xA9\xEF\xBF\xBD\\\\\",\"t\":true,\"n\":null}") == 0,
           "%s", takt_text_get(&t));
    EXPECT_EQ(parse(takt_text_get(&t))->count, 4);
    takt_text_deinit(&t);
    takt_json_begin(&w, &t, true);
    write_sample(&w);
    EXPECT(strncmp(takt_text_get(&t), "{\n  \"a\\\"\\n\\u0001\": [\n    -9", 27) == 0, "%s",
           takt_text_get(&t));
    EXPECT(strcmp(takt_text_get(&t) + t.length - 13, "  \"n\": null\n}") == 0, "%s",
           takt_text_get(&t));
    EXPECT_EQ(parse(takt_text_get(&t))->count, 4);
    takt_text_deinit(&t);
    takt_json_begin(&w, &t, false);
    for (int i = 0; i < 70; i++) /* across the words of the writer's bits */
        takt_json_open(&w, '[');
    takt_json_integer(&w, 1);
    takt_json_integer(&w, 2);
    for (int i = 0; i < 70; i++)
        takt_json_close(&w, ']');
    EXPECT(strstr(takt_text_get(&t), "[1,2]") != NULL && t.length == 143, "%s", takt_text_get(&t));
    takt_text_deinit(&t);
}

static void writes_members(void)
{
    takt_text t;
    takt_json_writer w;
    takt_text_init(&t, ctx);
    takt_json_begin(&w, &t, false);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "s", "x");
    takt_json_put_string(&w, "none", NULL);
    takt_json_put_number(&w, "n", 0.5);
    takt_json_put_integer(&w, "i", -1);
    takt_json_put_unsigned(&w, "u", UINT64_MAX);
    takt_json_put_bool(&w, "b", false);
    takt_json_put_open(&w, "o", '[');
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    EXPECT(strcmp(takt_text_get(&t), "{\"s\":\"x\",\"none\":\"\",\"n\":0.5,\"i\":-1,"
                                     "\"u\":18446744073709551615,\"b\":false,\"o\":[]}") == 0,
           "%s", takt_text_get(&t));
    takt_text_deinit(&t);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *c;
    takt_arena a;
    const takt_json *root;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &c);
    if (status != TAKT_OK)
        return status;
    takt_arena_init(&a, c);
    status = takt_json_parse(c, &a, user, strlen(user), &root);
    takt_arena_deinit(&a);
    takt_ctx_destroy(c);
    return status;
}

static void sweeps(void)
{
    char text[] = "{\"a\": [1, 2.5, \"x\"], \"b\": {\"c\": null}}";
    const takt_sweep_report r = takt_sweep(scenario, text, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.runs > 2 && r.survived == 0, "%s", r.message);
}

static void end(void)
{
    takt_arena_deinit(&arena);
    EXPECT_EQ(ctx->live_bytes, 0);
    takt_ctx_destroy(ctx);
}

/* The cost of a key does not depend on their number: accesses to slots and keys are counted. */
static void keys_are_linear(void)
{
    enum { MOST = 1 << 17 };
    static takt_json values[MOST + 1];
    static char text[MOST][16];
    takt_ctx *own;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &own)))
        return;
    for (uint32_t i = 0; i < MOST; i++) {
        snprintf(text[i], sizeof text[i], "layer.%u.w", i);
        values[i + 1].key = text[i];
    }
    for (uint32_t n = MOST / 64; n <= MOST; n += n / 2) { /* fuller and emptier tables */
        takt_json_keys k;
        if (!EXPECT_OK(own, takt_json_keys_open(&k, own, n)))
            break;
        for (uint32_t i = 1; i <= n; i++)
            EXPECT(takt_json_keys_add(&k, values, 0, i), "key %u is new", (unsigned)i);
        EXPECT((double)k.looks < 2.0 * n, "%u keys take %llu looks", (unsigned)n,
               (unsigned long long)k.looks);
        EXPECT(!takt_json_keys_add(&k, values, 0, n / 2), "a key twice");
        takt_json_keys_close(&k, own);
    }
    takt_ctx_destroy(own);
}

TEST_MAIN(keys_are_linear, begin, structure, numbers, strings, refuses, prefixes, depth, large,
          file_limit, writes, writes_members, sweeps, end)
