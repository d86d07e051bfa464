/* prefix.c - texts with a common prefix: read tokens are kept, copied or loaded from a file, and
 * scores have the same bits as after reading everything again; files with wrong contents are
 * refused. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/session/session.h"
#include "api/text/together.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "io/file.h"
#include "util/inject.h"

enum { VOCABULARY = 11, CONTEXT = 40 };
static const char tiny[] = "tests/corpus/gguf/tiny.gguf";
static const int32_t first[] = {1, 5, 4, 10, 4, 7, 2, 3, 9, 8}, other[] = {1, 5, 4, 10, 6, 6};

static takt_ctx *ctx;

static takt_generator *open_tiny(takt_ctx *own)
{
    const takt_generator_options options = {.context = CONTEXT, .threads = 1, .batch = 4};
    takt_generator *g = NULL;
    EXPECT_OK(own, takt_generator_open(own, tiny, &options, &g));
    return g;
}

static bool same_scores(const takt_generator *a, const takt_generator *b)
{
    return a->scores != NULL && b->scores != NULL &&
           memcmp(a->scores, b->scores, VOCABULARY * sizeof(float)) == 0;
}

/* Reads the first ten tokens, whatever the generator has read before. */
static void read_rest(takt_generator *g, size_t want)
{
    size_t kept = 99;
    EXPECT_OK(ctx, takt_generator_reuse(g, first, 10, &kept));
    EXPECT(kept == want && takt_generator_position(g) == (int64_t)want, "%zu of %zu", kept, want);
    EXPECT_OK(ctx, takt_generator_read(g, first + kept, 10 - kept));
}

static void reused(void)
{
    takt_generator *want = open_tiny(ctx), *g = open_tiny(ctx);
    if (want != NULL && g != NULL) {
        EXPECT_OK(ctx, takt_generator_read(want, first, 10));
        EXPECT_OK(ctx, takt_generator_read(g, other, 6));
        read_rest(g, 4);
        EXPECT(same_scores(g, want), "the first four were kept");
        read_rest(g, 9); /* all are present, but the scores of the last are needed */
        EXPECT(same_scores(g, want), "nine were kept");
        EXPECT_OK(ctx, takt_generator_rewind(g, 3));
        read_rest(g, 3);
        EXPECT(same_scores(g, want), "three were kept");
        EXPECT_STATUS(ctx, takt_generator_rewind(g, 11), TAKT_ERR_ARGUMENT);
        EXPECT_STATUS(ctx, takt_generator_rewind(g, -1), TAKT_ERR_ARGUMENT);
    }
    takt_generator_destroy(want);
    takt_generator_destroy(g);
}

/* One of three texts takes over tokens that another has read; they continue in one run. */
static void adopted(void)
{
    const takt_generator_options options = {.context = CONTEXT, .threads = 2, .batch = 4};
    takt_generator *texts[3] = {NULL}, *want = open_tiny(ctx);
    takt_together together = {.texts = NULL};
    takt_status status = takt_generator_open_first(ctx, tiny, &options, 3, 0, &texts[0]);
    for (size_t i = 1; i < 3 && status == TAKT_OK; i++)
        status = takt_generator_clone(texts[0], i, &texts[i]);
    if (status == TAKT_OK)
        status = takt_together_open(&together, texts, 3);
    if (EXPECT_OK(ctx, status) && want != NULL) {
        const int32_t next[3] = {8, 3, 8};
        EXPECT_OK(ctx, takt_generator_read(texts[0], first, 9));
        EXPECT_OK(ctx, takt_generator_read(texts[1], other, 6));
        EXPECT_OK(ctx, takt_generator_read(texts[2], other, 6));
        EXPECT(takt_generator_adopt(texts[2], texts[0], 4) && texts[2]->position == 4);
        EXPECT_OK(ctx, takt_generator_read(texts[2], first + 4, 5));
        EXPECT_OK(ctx, takt_together_read(&together, next));
        EXPECT_OK(ctx, takt_generator_read(want, first, 10));
        EXPECT(same_scores(texts[0], want) && same_scores(texts[2], want));
        takt_generator_reset(want);
        EXPECT_OK(ctx, takt_generator_read(want, other, 6));
        EXPECT_OK(ctx, takt_generator_read(want, &next[1], 1));
        EXPECT(same_scores(texts[1], want));
    }
    takt_together_close(&together);
    for (size_t i = 3; i-- > 0;)
        takt_generator_destroy(texts[i]);
    takt_generator_destroy(want);
}

static int swallow(void *user, const char *text, size_t length)
{
    char *all = user;
    strncat(all, text, length);
    return 0;
}

/* The same text, and how much of the prompt was not read again. */
static void written(void)
{
    takt_generator *g = open_tiny(ctx);
    takt_generate_options how = {.max_tokens = 6, .reuse = true};
    how.sampling = (takt_sampling){.temperature = 1, .seed = 3};
    char a[256] = "", b[256] = "";
    takt_generated one = {0}, two = {0};
    if (g != NULL) {
        EXPECT_OK(ctx, takt_generate(g, "a b a b", &how, swallow, a, &one));
        EXPECT_OK(ctx, takt_generate(g, "a b a b", &how, swallow, b, &two));
        EXPECT(strcmp(a, b) == 0 && one.cached_tokens == 0 && one.prompt_tokens > 2 &&
                   two.cached_tokens == two.prompt_tokens - 1,
               "%s and %s, %zu cached", a, b, two.cached_tokens);
        memset(b, 'a', sizeof b - 1);
        b[sizeof b - 1] = '\0';
        EXPECT_STATUS(ctx, takt_generate(g, b, &how, swallow, a, &two), TAKT_ERR_ARGUMENT);
    }
    takt_generator_destroy(g);
}

/* ---- files ---- */

static const char *path_of(const char *name)
{
    static char path[1024];
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(path, sizeof path, "%s/%s", tmp != NULL ? tmp : "/tmp", name);
    return path;
}

static void kept_in_file(void)
{
    takt_generator *want = open_tiny(ctx), *g = open_tiny(ctx);
    if (want != NULL && g != NULL) {
        EXPECT_OK(ctx, takt_generator_read(want, first, 7));
        EXPECT_OK(ctx, takt_generator_save(want, path_of("prompt.kv")));
        EXPECT_OK(ctx, takt_generator_read(want, first + 7, 3));
        EXPECT_OK(ctx, takt_generator_read(g, other, 6));
        EXPECT_OK(ctx, takt_generator_load(g, path_of("prompt.kv")));
        EXPECT(takt_generator_position(g) == 7 && takt_generator_scores(g, NULL) == NULL);
        read_rest(g, 7);
        EXPECT(same_scores(g, want));
        EXPECT_STATUS(ctx, takt_generator_load(g, path_of("nothing")), TAKT_ERR_IO);
    }
    takt_generator_destroy(want);
    takt_generator_destroy(g);
}

typedef struct image {
    takt_generator *g;
    uint8_t *bytes;
    size_t length;
} image;

static void refuse(takt_generator *g, const uint8_t *bytes, size_t length, int id, const char *what)
{
    EXPECT(takt_generator_load_bytes(g, "bytes", bytes, length) != TAKT_OK &&
               takt_last_error_info(ctx)->id == id,
           "%s: %s", what, takt_last_error(ctx));
    EXPECT(takt_generator_position(g) == 6, "%s: the generator has changed", what);
}

/* Another byte, with a checksum that is right. */
static void refuse_at(const image *i, size_t at, uint8_t value, int id, const char *what)
{
    uint8_t *bytes = i->bytes;
    const size_t length = i->length;
    const uint8_t before = bytes[at];
    uint8_t sum[4];
    memcpy(sum, bytes + length - 4, 4);
    bytes[at] = value;
    const uint32_t crc = takt_crc32c(0, bytes, length - 4);
    for (size_t k = 0; k < 4; k++)
        bytes[length - 4 + k] = (uint8_t)(crc >> 8 * k);
    refuse(i->g, bytes, length, id, what);
    bytes[at] = before;
    memcpy(bytes + length - 4, sum, 4);
}

static void damaged(void)
{
    takt_generator *g = open_tiny(ctx);
    void *block;
    size_t length;
    if (g == NULL || !EXPECT_OK(ctx, takt_generator_read(g, other, 6)) ||
        !EXPECT_OK(ctx, takt_generator_save(g, path_of("whole.kv"))) ||
        !EXPECT_OK(ctx, takt_read_file(ctx, path_of("whole.kv"), &block, &length)))
        return;
    uint8_t *bytes = block;
    for (size_t at = 0; at < length; at += 1 + at / 40) {
        bytes[at] ^= 4;
        refuse(g, bytes, length, TAKT_E_PROMPT_CACHE, "a byte");
        bytes[at] ^= 4;
        refuse(g, bytes, at, TAKT_E_PROMPT_CACHE, "cut off");
    }
    const uint8_t name = bytes[32];
    const image whole = {g, bytes, length};
    refuse_at(&whole, 9, (uint8_t)(bytes[9] ^ 1), TAKT_E_PROMPT_CACHE_MODEL, "digest");
    refuse_at(&whole, 16, 5, TAKT_E_PROMPT_CACHE, "fewer tokens");
    refuse_at(&whole, 16, CONTEXT + 1, TAKT_E_PROMPT_CACHE, "too many tokens");
    refuse_at(&whole, 23, 0x80, TAKT_E_PROMPT_CACHE, "2^63 tokens");
    refuse_at(&whole, 24, 1, TAKT_E_PROMPT_CACHE, "fewer states");
    refuse_at(&whole, 32, (uint8_t)(name + 1), TAKT_E_PROMPT_CACHE, "a longer name");
    refuse_at(&whole, 35, 0xFF, TAKT_E_PROMPT_CACHE, "a name without end");
    refuse_at(&whole, 44, '!', TAKT_E_PROMPT_CACHE, "another name");
    size_t head = 32;
    for (size_t i = 0; i < g->engine.token->plan->graph->slot_count; i++)
        head += 12 + strlen(g->engine.token->plan->graph->slots[i].name);
    refuse_at(&whole, head, VOCABULARY, TAKT_E_PROMPT_CACHE, "a token");
    for (size_t at = head + 24, i = 0; i < g->engine.token->plan->graph->slot_count; i++) {
        const takt_type *t = &g->engine.token->plan->graph->slots[i].type;
        if (t->dtype == TAKT_I64)
            refuse_at(&whole, at, 3, TAKT_E_PROMPT_CACHE, "another count");
        at += takt_generator_state_bytes(g, i, 6);
    }
    EXPECT_OK(ctx, takt_generator_load_bytes(g, "bytes", bytes, length));
    takt_mem_put(ctx, block, length);
    takt_generator_destroy(g);
}

/* A model whose state every token changes: nothing can be forgotten, but all of it can be kept. */
static void memory(void)
{
    static const char text[] =
        "model m(tokens: i64[seq], wanted: i64[count]) {\n"
        "  state kept: f32[11] = 0\n"
        "  next kept = kept * 0.5 + cast(reduce_sum(tokens, axes=[0]), dtype=f32)\n"
        "  return logits = broadcast(reshape(kept, shape=[1, 11]), shape=[count, 11])\n"
        "}\n";
    const takt_generator_options options = {.tokenizer = tiny, .threads = 1, .context = 32};
    takt_generator *g = NULL;
    size_t kept = 9;
    EXPECT_OK(ctx, takt_write_file(ctx, path_of("m.takt"), text, strlen(text)));
    if (!EXPECT_OK(ctx, takt_generator_open(ctx, path_of("m.takt"), &options, &g)))
        return;
    EXPECT_OK(ctx, takt_generator_read(g, first, 4));
    EXPECT_STATUS(ctx, takt_generator_rewind(g, 2), TAKT_ERR_UNSUPPORTED);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_SPECULATION);
    EXPECT_OK(ctx, takt_generator_reuse(g, first, 10, &kept));
    EXPECT_EQ(kept, 4);
    EXPECT_OK(ctx, takt_generator_save(g, path_of("m.kv")));
    EXPECT_OK(ctx, takt_generator_reuse(g, other + 1, 4, &kept));
    EXPECT_EQ(kept, 0);
    EXPECT_EQ(takt_generator_position(g), 0);
    EXPECT_OK(ctx, takt_generator_load(g, path_of("m.kv")));
    EXPECT_EQ(takt_generator_position(g), 4);
    takt_generate_options how = {.max_tokens = 2, .lookup = true};
    char to[256] = "";
    EXPECT_STATUS(ctx, takt_generate(g, "a", &how, swallow, to, NULL), TAKT_ERR_UNSUPPORTED);
    takt_generator_destroy(g);
}

/* ---- what can fail ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_generator *g = NULL;
    takt_ctx *own;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    const takt_inject_mode mode = inject->mode;
    const takt_generator_options options = {.context = CONTEXT, .threads = 1};
    inject->mode = TAKT_INJECT_OFF; /* opening a model has sweeps of its own */
    const uint64_t before = inject->operations;
    status = takt_generator_open(own, tiny, &options, &g);
    inject->operations = before;
    inject->mode = mode;
    if (status == TAKT_OK)
        status = takt_generator_save(g, path_of("swept.kv"));
    if (status == TAKT_OK)
        status = takt_generator_load(g, path_of("swept.kv"));
    inject->mode = TAKT_INJECT_OFF;
    takt_generator_destroy(g);
    takt_ctx_destroy(own);
    inject->mode = mode;
    return status;
}

static void swept(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES);
    EXPECT(r.is_good, "%s", r.message);
}

static void all(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    reused();
    adopted();
    written();
    kept_in_file();
    damaged();
    memory();
    takt_ctx_destroy(ctx);
}

TEST_MAIN(all, swept)
