/* tokenizer_parts.c - a text without words is encoded in parts that begin with marks: the ids are
 * those of the whole, for any bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "text/tokenizer.h"

static takt_ctx *ctx;
static const char *const pieces[] = {"a",    " ",    "  ",   "b",        "c",           "ab",
                                     "the ", "once", ".",    "\n",       "<s>",         "\xE2",
                                     "\x96", "\xFF", " a b", "\xC3\xA9", "\xE2\x96\x81"};
enum { PIECES = sizeof pieces / sizeof *pieces, MOST = 2048 };

/* Up to 60 pieces; returns the length. */
static size_t draw(char text[600], int round, uint32_t *state)
{
    size_t length = 0;
    for (int i = 0; i < round % 60; i++) {
        *state = *state * 1664525 + 1013904223;
        const char *piece = pieces[(*state >> 16) % PIECES];
        memcpy(text + length, piece, strlen(piece));
        length += strlen(piece);
    }
    return length;
}

static void compare(takt_tokenizer *t, const char *path)
{
    static int32_t whole[MOST], cut[MOST];
    uint32_t state = 1;
    char text[600];
    EXPECT(t->marks_begin, "%s: marks are anywhere", path);
    for (int round = 0; round < 3000; round++) {
        const size_t length = draw(text, round, &state);
        takt_token_ids a = {whole, MOST, 0}, b = {cut, MOST, 0};
        t->marks_begin = false;
        EXPECT_OK(ctx, takt_tokenize(t, text, length, 3, &a));
        t->marks_begin = true;
        EXPECT_OK(ctx, takt_tokenize(t, text, length, 3, &b));
        EXPECT(a.count == b.count && memcmp(whole, cut, a.count * sizeof *cut) == 0,
               "%s: other ids of \"%.*s\"", path, (int)length, text);
    }
}

static void parts(void)
{
    static const char *const files[] = {"tests/corpus/tokenizer/spm.gguf",
                                        "tests/corpus/gguf/tiny.gguf",
                                        "llm/stories260K/stories260K-Q8_0.gguf"};
    const char *data = getenv("TAKT_DATA") != NULL ? getenv("TAKT_DATA") : "../shared/data";
    for (size_t f = 0; f < 3; f++) {
        char path[1024];
        takt_tokenizer *t;
        (void)snprintf(path, sizeof path, "%s%s%s", f < 2 ? "" : data, f < 2 ? "" : "/", files[f]);
        if (takt_tokenizer_load(ctx, path, &t) == TAKT_OK)
            compare(t, path);
        else
            EXPECT(f == 2, "%s: %s", path, takt_last_error(ctx));
        takt_tokenizer_destroy(t);
    }
}

/* A token with a mark inside: a merge may cross it. */
static void crossing(void)
{
    static const char json[] = "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\xE2\x96\x81\":1,"
                               "\"a\xE2\x96\x81\":2},\"merges\":[\"a \xE2\x96\x81\"]}}";
    takt_tokenizer *t;
    int32_t room[4];
    takt_token_ids ids = {room, 4, 0};
    if (!EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t)))
        return;
    EXPECT_OK(ctx, takt_tokenize(t,
                                 "a\xE2\x96\x81"
                                 "a",
                                 5, 0, &ids));
    EXPECT(!t->marks_begin && ids.count == 2 && room[0] == 2 && room[1] == 0);
    takt_tokenizer_destroy(t);
}

/* A word without a token: an error where no token stands for it, not a text without it. */
static void unknown(void)
{
    static const struct {
        const char *json;
        bool is_refused;
    } rows[] = {
        {"{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":{\"a\":0}}", true},
        {"{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":{\"a\":0,\"[UNK]\":1}}", false},
        {"{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\",\"vocab\":{\"a\":0}}", true},
        {"{\"type\":\"Unigram\",\"unk_id\":null,\"vocab\":[[\"a\",-1.0]]}", true},
        {"{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",-1.0]]}", false},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[200];
        int32_t room[8];
        takt_tokenizer *t;
        takt_token_ids known = {room, 8, 0}, other = {room, 8, 0};
        (void)snprintf(json, sizeof json, "{\"model\":%s}", rows[i].json);
        if (!EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t)))
            continue;
        EXPECT_OK(ctx, takt_tokenize(t, "a", 1, 0, &known));
        const bool is_left_out = strstr(json, "BPE") != NULL;
        const takt_status status = takt_tokenize(t, "z", 1, 0, &other);
        EXPECT((status == TAKT_OK) != rows[i].is_refused &&
                   (status == TAKT_OK || takt_last_error_info(ctx)->id == 3711) &&
                   (status != TAKT_OK || other.count == !is_left_out),
               "%s: %s", json, takt_last_error(ctx));
        takt_tokenizer_destroy(t);
    }
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

TEST_MAIN(begin, parts, crossing, unknown, end)
