/* regex.c - patterns: matches, refusals, and that no text makes them slow. */
#include "text/regex.h"

#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "test.h"
#include "text/tokenizer.h"
#include "util/gguf_file.h"
#include "util/inject.h"

#include "regex_cuts.inc"

static takt_ctx *ctx;

/* The matches of `pattern` in `text`, each in brackets. */
static void expect(const char *pattern, unsigned flags, const char *text, const char *want)
{
    takt_arena arena;
    takt_regex regex;
    takt_regex_run run = {.ctx = ctx};
    char got[512] = "";
    const takt_span span = takt_span_of(text);
    takt_arena_init(&arena, ctx);
    if (EXPECT_OK(ctx, takt_regex_compile(&arena, takt_span_of(pattern), flags, &regex))) {
        size_t begin, end;
        takt_regex_begin(&run, ctx, &regex, span);
        for (size_t at = 0; at <= span.length && takt_regex_next(&run, at, &begin, &end);
             at = end > begin ? end : end + 1)
            snprintf(got + strlen(got), sizeof got - strlen(got), "[%.*s]", (int)(end - begin),
                     text + begin);
        EXPECT(strcmp(got, want) == 0, "%s: %s, not %s", pattern, got, want);
    }
    takt_regex_deinit(&run);
    takt_arena_deinit(&arena);
}

static void matches(void)
{
    expect("a|ab", 0, "ab", "[a]");
    expect("a+?b|a", 0, "aab a", "[aab][a]");
    expect("(?i:'s|'t)", 0, "'S't", "['S]['t]");
    expect("a{2,3}", 0, "aaaaa", "[aaa][aa]");
    expect("a{,2}b", 0, "aaab", "[aab]");
    expect("x{a", 0, "x{a", "[x{a]");
    expect("\\d{1,3}(?=(?:\\d{3})*\\b)", 0, "1234567", "[1][234][567]");
    expect("(?=(\\d{3})+(?!\\d))", 0, "12345", "[]");
    expect("(?<=a)b|(?<!a)c", 0, "abcac", "[b][c]");
    expect("[^\\w\\s]+", 0, "a, b!?", "[,][!?]");
    expect("[a-f&&[^c]]+", 0, "abcdef", "[ab][def]");
    expect("[\\p{L}&&[^\\p{Han}]]+", 0, "ab\u6211c", "[ab][c]");
    expect("[]a]+", 0, "]a", "[]a]");
    expect("[a-]+", 0, "a-b", "[a-]");
    expect("\\x41\\x{42}\\u0043", 0, "ABC", "[ABC]");
    expect("a++b|a", 0, "aab", "[aab]");
    expect("(?i:s)++|(?<=(?i:k))\\d", 0, "sSK1s2", "[sS][1][s]");
    expect("\\p{N}{1,3}+", 0, "1234", "[1234]");
    expect("\\p{N}{1,3}+", TAKT_REGEX_RUST, "1234", "[123][4]");
    expect("\\s+$", 0, "a \nb ", "[ ][ ]");
    expect("\\s+$", TAKT_REGEX_RUST, "a \nb ", "[ ]");
    expect("^.", 0, "a\nb", "[a][b]");
    expect("(?:a*)*b", 0, "aaac", "");
    expect("(?:a|)+b", 0, "aab", "[aab]");
    expect("\u00e9+", 0, "\u00e9\u00e9", "[\u00e9\u00e9]");
    expect(".", 0, "\xff", "[\xff]");
    expect("", 0, "ab", "[][][]");
}

static void refuse(const char *pattern)
{
    takt_arena arena;
    takt_regex regex;
    takt_arena_init(&arena, ctx);
    EXPECT(takt_regex_compile(&arena, takt_span_of(pattern), 0, &regex) == TAKT_ERR_UNSUPPORTED &&
               takt_last_error_info(ctx)->id == TAKT_E_TOKENIZER_UNSUPPORTED,
           "%s was taken", pattern);
    takt_arena_deinit(&arena);
}

static void refusals(void)
{
    static const char *const bad[] = {
        "(",           ")",       "(a",         "a)",          "[",
        "[a",          "[b-a]",   "[a-\\d]",    "*a",          "\\",
        "\\1",         "\\k<a>",  "\\p{Xx}",    "\\p{L",       "\\p",
        "(?>a)",       "(?<a>b)", "(?<=ab)c",   "(?:ab)++",    "a{5000}",
        "[[:alpha:]]", "\\x{zz}", "\\u12",      "(?i:\u00e9)", "((a{999}){999})",
        "(?",          "[a&&",    "\\x{110000}"};
    char deep[400] = "";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(bad[i]);
    memset(deep, '(', sizeof deep - 1);
    refuse(deep);
    memset(deep, '[', sizeof deep - 1);
    refuse(deep);
}

/* Patterns that take exponential or quadratic time by trying everything: the steps of a match are
 * counted here as the frames that it needs, and its time is bounded by the test's own. */
static void hard(void)
{
    static const char *const patterns[] = {
        "(a+)+b",  "(?:a|a)*b",  "a*a*a*a*a*b",    "(?=(a+)+b)",
        "a++b",    "[a-z]+?\\d", "(?:\\w+\\s?)+!", "\\w{1,3}(?=(?:\\w{3})*\\b)",
        "(?:|a)*b"};
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH);
    memset(text, 'a', LENGTH);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        takt_arena arena;
        takt_regex regex;
        takt_regex_run run = {.ctx = ctx};
        size_t begin, end, count = 0;
        takt_arena_init(&arena, ctx);
        if (EXPECT_OK(ctx, takt_regex_compile(&arena, takt_span_of(patterns[i]), 0, &regex))) {
            takt_regex_begin(&run, ctx, &regex, (takt_span){text, LENGTH});
            for (size_t at = 0; takt_regex_next(&run, at, &begin, &end) && end > begin; at = end)
                count++;
            EXPECT(run.status == TAKT_OK, "%s: %s", patterns[i], takt_last_error(ctx));
            EXPECT(run.room <= 16 * LENGTH, "%s: a path of %zu", patterns[i], run.room);
            EXPECT(count == (i == 7 ? (LENGTH + 2) / 3 : 0), "%s: %zu", patterns[i], count);
        }
        takt_regex_deinit(&run);
        takt_arena_deinit(&arena);
    }
    free(text);
}

/* ---- a tokenizer with patterns, and without memory ---- */

static const char json[] =
    "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
    "{\"Regex\":\"\\\\d{1,3}(?=(?:\\\\d{3})*\\\\b)\"},\"behavior\":\"Isolated\"},"
    "{\"type\":\"Whitespace\"}]},\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\","
    "\"vocab\":{\"?\":0,\"a\":1,\"12\":2,\"345\":3,\"!\":4}}}";

static takt_status encode(takt_ctx *own, int32_t *ids, size_t *count)
{
    takt_tokenizer *t;
    TAKT_TRY(takt_tokenizer_load_memory(own, "t.json", json, sizeof json - 1, &t));
    takt_token_ids to = {.at = ids, .capacity = *count};
    const takt_status status = takt_tokenize(t, "a 12345! b", 10, 0, &to);
    *count = to.count;
    takt_tokenizer_destroy(t);
    return status;
}

static void whole_words(void)
{
    static const int32_t want[] = {1, 2, 3, 4, 0};
    int32_t ids[8];
    size_t count = 8;
    EXPECT_OK(ctx, encode(ctx, ids, &count));
    EXPECT(count == 5 && memcmp(ids, want, sizeof want) == 0, "%zu", count);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    int32_t ids[8];
    size_t count = 8;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = encode(own, ids, &count);
    takt_ctx_destroy(own);
    return status;
}

static void swept(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

/* ---- names of GGUF ---- */

static char words[1024];

static void keep_word(void *user, takt_span word)
{
    (void)user;
    snprintf(words + strlen(words), sizeof words - strlen(words), "[%.*s]", (int)word.length,
             word.at);
}

/* A vocabulary of one letter: how a text is split does not depend on it. */
static takt_tokenizer *named(const char *name)
{
    static gguf_file f;
    takt_tokenizer *t = NULL;
    gguf_begin(&f, 3, 0, 4);
    gguf_key_text(&f, "tokenizer.ggml.model", "gpt2");
    gguf_key_text(&f, "tokenizer.ggml.pre", name);
    for (int i = 0; i < 2; i++) {
        gguf_key_head(&f, i == 0 ? "tokenizer.ggml.tokens" : "tokenizer.ggml.merges", 9);
        gguf_u32(&f, 8);
        gguf_u64(&f, i == 0);
        if (i == 0)
            gguf_text(&f, "a");
    }
    gguf_pad(&f, 32);
    EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t.gguf", f.bytes, f.length, &t));
    return t;
}

static void names(void)
{
    static const char *const others[] = {"hunyuan-dense", "joyai-llm", "hy_v4", "cohere2moe",
                                         "granite-embed-multi-311m"};
    for (size_t i = 0; i < sizeof cut_cases / sizeof *cut_cases; i++) {
        takt_tokenizer *t = named(cut_cases[i].name);
        if (t == NULL)
            continue;
        takt_cutting c = {.t = t, .word = keep_word};
        words[0] = '\0';
        takt_cuts_run(&c, 0, takt_span_of(CUT_TEXT));
        EXPECT(strcmp(words, cut_cases[i].words) == 0, "%s: %s, not %s", cut_cases[i].name, words,
               cut_cases[i].words);
        takt_cutting_deinit(&c);
        takt_tokenizer_destroy(t);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        takt_tokenizer_destroy(named(others[i]));
}

/* ---- tiktoken ---- */

static void expect_ranks(const char *file, int id, size_t tokens)
{
    takt_tokenizer *t;
    const takt_status status =
        takt_tokenizer_load_memory(ctx, "x.tiktoken", file, strlen(file), &t);
    EXPECT(id == 0 ? status == TAKT_OK : status != TAKT_OK && takt_last_error_info(ctx)->id == id,
           "%s: %s", file, takt_last_error(ctx));
    int32_t ids[8];
    takt_token_ids to = {.at = ids, .capacity = 8};
    if (status == TAKT_OK) {
        EXPECT_OK(ctx, takt_tokenize(t, "abc", 3, 0, &to));
        EXPECT(to.count == tokens, "%zu", to.count);
    }
    takt_tokenizer_destroy(t);
}

static void ranks(void)
{
    expect_ranks("YQ== 0\nYg== 1\nYw== 2\n", 0, 3);
    expect_ranks("YQ== 0\r\nYg== 1\r\nYw== 2\r\nYmM= 3\r\n", 0, 2); /* a, bc */
    expect_ranks("YQ== 0\nYg== 1\nYw== 2\nYmM= 4\nYWI= 3", 0, 2);   /* ab, c */
    expect_ranks("YQ== 0\nYg== 0\n", TAKT_E_TOKENIZER, 0);
    expect_ranks("YQ== 0\nYQ== 1\n", TAKT_E_TOKENIZER, 0);
    expect_ranks("YQ== 0\nYg 1\n", TAKT_E_TOKENIZER, 0);
    expect_ranks("YQ== 0\nYg== 99999999\n", TAKT_E_TOKENIZER, 0);
    expect_ranks("YQ== x\n", TAKT_E_TOKENIZER_MISSING, 0);
}

static void begin(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, matches, refusals, hard, whole_words, swept, names, ranks, end)
