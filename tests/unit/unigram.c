/* unigram.c - Unigram models of tokenizer.json and of SentencePiece: small ones by hand, damaged
 * ones, failing allocations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/tokenizer.h>

#include "../test.h"
#include "base/error.h"
#include "util/inject.h"

enum { MOST = 1 << 14 };

typedef struct seed {
    char bytes[MOST];
    size_t length;
} seed;

static takt_ctx *ctx;
static seed json, unigram, bpe;

static void read_seed(const char *path, seed *s)
{
    FILE *file = fopen(path, "rb");
    s->length = file != NULL ? fread(s->bytes, 1, MOST, file) : 0;
    if (file != NULL)
        fclose(file);
    if (!EXPECT(s->length > 0 && s->length < MOST, "%s", path))
        exit(EXIT_FAILURE);
}

static void begin(void)
{
    read_seed("tests/corpus/tokenizer/unigram.json", &json);
    read_seed("tests/corpus/tokenizer/unigram.model", &unigram);
    read_seed("tests/corpus/tokenizer/bpe.model", &bpe);
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

/* The ids of a text as "6 5 9". */
static void expect(const seed *s, const char *text, const char *want)
{
    takt_tokenizer *t = NULL;
    int32_t room[64];
    char got[512] = "";
    takt_token_ids ids = {room, 64, 0};
    if (!EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t", s->bytes, s->length, &t)))
        return;
    EXPECT_OK(ctx, takt_tokenize(t, text, strlen(text), 0, &ids));
    for (size_t i = 0; i < ids.count && i < 64; i++)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i > 0 ? " " : "",
                       room[i]);
    EXPECT(strcmp(got, want) == 0, "%s of %s: %s, not %s", takt_tokenizer_kind(t), text, got, want);
    takt_tokenizer_destroy(t);
}

/* Scores: a -4, b -4.5, c -5, ab -3.5; behind a space: nothing -3, a -2, ab -6.5. */
static void small(void)
{
    expect(&json, "ab", "8"); /* -2 - 4.5 is as much: the way that begins first */
    expect(&unigram, "aba", "8 4");
    expect(&json, "cab", "3 9 7");
    expect(&unigram, "cab", "3 9 7");
    expect(&unigram, "  c  A ", "3 9 6"); /* A is mapped to a; spaces are merged and trimmed */
    expect(&json, "A", "6");
    expect(&json, "axyb", "6 0 5"); /* unknown characters are one token */
    expect(&unigram, "xy", "3 0");
    expect(&bpe, "ab", "8"); /* " a", which has the best score, and then the rest */
    expect(&unigram, "", "");
    expect(&unigram,
           "\xFF"
           "a",
           "3 0 4");
}

static void refuse(const seed *s, int id, const char *why)
{
    takt_tokenizer *t = NULL;
    const takt_status status = takt_tokenizer_load_memory(ctx, "t", s->bytes, s->length, &t);
    EXPECT(status != TAKT_OK && takt_last_error_info(ctx)->id == id, "%s: %s", why,
           status == TAKT_OK ? "was read" : takt_last_error(ctx));
    takt_tokenizer_destroy(t);
}

static void replace(seed *s, const char *from, const char *to)
{
    char *at = strstr(s->bytes, from);
    const size_t n = strlen(from), k = strlen(to);
    if (!EXPECT(at != NULL, "%s is not there", from))
        return;
    memmove(at + k, at + n, s->length - (size_t)(at - s->bytes) - n);
    memcpy(at, to, k);
    s->length += k - n;
    s->bytes[s->length] = '\0';
}

static void damaged(void)
{
    static const struct {
        const char *from, *to;
        int id;
    } cases[] = {{"-4.0]", "\"x\"]", TAKT_E_TOKENIZER},
                 {"[\"a\", -4.0]", "7", TAKT_E_TOKENIZER},
                 {"\"vocab\"", "\"words\"", TAKT_E_TOKENIZER},
                 {"AAAA", "A!AA", TAKT_E_TOKENIZER},
                 {"AAgAAA", "//////", TAKT_E_TOKENIZER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        seed s = json;
        replace(&s, cases[i].from, cases[i].to);
        refuse(&s, cases[i].id, cases[i].to);
    }
    seed s = unigram;
    s.bytes[1] = 120; /* a piece that is longer than its text */
    refuse(&s, TAKT_E_TOKENIZER, "length");
    for (size_t cut = 5; cut < 90; cut += 7) { /* some end between two fields */
        takt_tokenizer *t = NULL;
        if (takt_tokenizer_load_memory(ctx, "t", unigram.bytes, cut, &t) == TAKT_OK)
            takt_tokenizer_destroy(t);
        else
            EXPECT(takt_last_error_info(ctx)->id == TAKT_E_TOKENIZER, "%s", takt_last_error(ctx));
    }
}

/* A long text without a space takes time in proportion to its length. */
static void long_text(void)
{
    enum { LENGTH = 300000 };
    char *text = malloc(LENGTH);
    takt_tokenizer *t = NULL;
    takt_token_ids ids = {0};
    if (!EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t", json.bytes, json.length, &t)))
        return;
    memset(text, 'a', LENGTH);
    EXPECT_OK(ctx, takt_tokenize(t, text, LENGTH, 0, &ids));
    EXPECT(ids.count == LENGTH, "%zu", ids.count);
    free(text);
    takt_tokenizer_destroy(t);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    const seed *s = user;
    takt_config config = {0};
    takt_ctx *own;
    takt_tokenizer *t = NULL;
    int32_t room[64];
    takt_token_ids ids = {room, 64, 0};
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_tokenizer_load_memory(own, "t", s->bytes, s->length, &t);
    if (status == TAKT_OK)
        status = takt_tokenize(t, "ab  cA xy", 9, 3, &ids);
    takt_tokenizer_destroy(t);
    takt_ctx_destroy(own);
    return status;
}

static void memory(void)
{
    seed *const all[] = {&json, &unigram, &bpe};
    for (size_t i = 0; i < 3; i++) {
        const takt_sweep_report r = takt_sweep(scenario, all[i], TAKT_INJECT_MEMORY);
        EXPECT(r.is_good, "%s", r.message);
    }
}

TEST_MAIN(begin, small, damaged, long_text, memory, end)
