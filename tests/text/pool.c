/* pool.c - texts whose caches come from one pool: whatever they share, copy or give up, the scores
 * of each are the same as alone; a text that does not fit waits; nothing leaks. */
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/session/session.h"
#include "api/text/together.h"
#include "plan/plan.h"
#include "util/inject.h"

enum { VOCABULARY = 11, ROWS = 4, MOST = 2048, ROUNDS = 300 };
static const takt_generator_options small = {.context = 1024, .threads = 1, .batch = 16};
static const char tiny[] = "tests/corpus/gguf/tiny.gguf";

typedef struct pool {
    takt_ctx *ctx;
    takt_generator *texts[ROWS], *alone;
    takt_together together;
    takt_kv *kv;
    int32_t ids[ROWS][MOST]; /* of the texts: prompts and continuations */
    size_t prompts[ROWS], ends[ROWS];
    bool is_busy[ROWS];
    size_t admitted, refused, taken, joined; /* taken: tokens that others had read */
    uint32_t seed;
} pool;

static size_t pick(pool *p, size_t below)
{
    p->seed = p->seed * 1664525u + 1013904223u;
    return (p->seed >> 8) % below;
}

static takt_status open_texts(pool *p, const takt_generator_options *options, uint64_t bytes)
{
    TAKT_TRY(takt_generator_open_first(p->ctx, tiny, options, ROWS, bytes, &p->texts[0]));
    for (size_t i = 1; i < ROWS; i++)
        TAKT_TRY(takt_generator_clone(p->texts[0], i, &p->texts[i]));
    p->kv = p->texts[0]->engine.kv;
    return takt_together_open(&p->together, p->texts, ROWS);
}

static void close_texts(pool *p)
{
    takt_together_close(&p->together);
    for (size_t i = ROWS; i-- > 0;)
        takt_generator_destroy(p->texts[i]);
    takt_generator_destroy(p->alone);
}

/* ---- random texts ---- */

/* A prompt with a shared prefix: one of two prefixes, cut somewhere, then its own tokens. */
static void make_prompt(pool *p, size_t row, size_t tokens)
{
    const size_t kind = pick(p, 2), cut = pick(p, 3 * tokens + 1);
    p->prompts[row] = cut + 1 + pick(p, tokens);
    p->ends[row] = p->prompts[row] + 1 + pick(p, tokens);
    for (size_t i = 0; i < p->prompts[row]; i++)
        p->ids[row][i] =
            (int32_t)(i < cut ? (i * 7 + kind * 3 + i / 5) % VOCABULARY : pick(p, VOCABULARY));
}

static bool begin(pool *p, size_t row)
{
    takt_generator *g = p->texts[row];
    make_prompt(p, row, p->kv->layout.tokens);
    const int32_t *ids = p->ids[row];
    const size_t count = p->prompts[row], worst = p->ends[row] + 1;
    const size_t free_before = p->kv->blocks.free_count, live = p->kv->blocks.live_count;
    if (!takt_kv_fits(p->kv, ids, count, worst)) {
        p->refused++;
        return EXPECT(live > 0 && p->kv->blocks.free_count == free_before);
    }
    if (!EXPECT_OK(p->ctx, takt_kv_admit(g, ids, count, worst)))
        return false;
    const size_t has = (size_t)g->position;
    p->is_busy[row] = true;
    p->admitted++;
    p->taken += has;
    return EXPECT(has < count);
}

/* All texts read parts of their prompts, mostly in runs of several. */
static bool read_prompts(pool *p)
{
    takt_together_part parts[ROWS] = {0};
    bool is_good = true;
    p->together.spare = pick(p, 4) > 0 ? 1000 : 2;
    for (size_t i = 0; i < ROWS; i++) {
        const size_t at = (size_t)p->texts[i]->position, left = p->prompts[i] - at;
        parts[i].ids = p->ids[i] + at;
        if (p->is_busy[i] && at < p->prompts[i])
            parts[i].count = 1 + pick(p, left < 12 ? left : 12);
    }
    takt_together_read_parts(&p->together, parts, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        p->joined += parts[i].together > 1;
        is_good = is_good && parts[i].is_done == (parts[i].count > 0) && parts[i].status == TAKT_OK;
    }
    return EXPECT(is_good);
}

/* The scores are those of a generator that has read only this text. */
static bool is_same(pool *p, size_t row)
{
    const takt_generator *g = p->texts[row];
    takt_generator_reset(p->alone);
    if (!EXPECT_OK(p->ctx, takt_generator_read(p->alone, p->ids[row], (size_t)g->position)))
        return false;
    return EXPECT(memcmp(g->scores, p->alone->scores, VOCABULARY * sizeof(float)) == 0,
                  "text %zu of %lld tokens has other scores than alone", row,
                  (long long)g->position);
}

/* All active texts read a token; finished ones are checked and removed. */
static bool go_on(pool *p)
{
    int32_t ids[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        const size_t at = (size_t)p->texts[i]->position;
        const bool goes = p->is_busy[i] && at >= p->prompts[i] && at < p->ends[i] && pick(p, 4) > 0;
        ids[i] = goes ? (int32_t)pick(p, VOCABULARY) : -1;
        if (goes)
            p->ids[i][at] = ids[i];
    }
    if (!EXPECT_OK(p->ctx, takt_together_read(&p->together, ids)))
        return false;
    for (size_t i = 0; i < ROWS; i++) {
        if (!p->is_busy[i] || (size_t)p->texts[i]->position < p->ends[i])
            continue;
        if (!is_same(p, i) || !EXPECT_OK(p->ctx, takt_kv_release(p->texts[i])))
            return false;
        p->is_busy[i] = false;
        EXPECT(p->texts[i]->position == 0 && p->kv->texts[i].table.count == 0);
    }
    return true;
}

static void random_texts(takt_ctx *ctx, const char *type, int64_t context, size_t blocks)
{
    static pool p;
    p = (pool){.ctx = ctx, .seed = 1};
    takt_generator_options one = {
        .context = context, .threads = 2, .batch = 32, .cache_type_k = type, .cache_type_v = type};
    const takt_generator_options options = one;
    one.threads = 1, one.batch = 7;
    takt_kv_layout l;
    takt_generator *sized = NULL; /* shows the size of a block */
    bool is_good = EXPECT_OK(
        ctx, takt_generator_open_first(ctx, tiny, &options, ROWS, (uint64_t)1 << 18, &sized));
    l = is_good ? sized->engine.kv->layout : (takt_kv_layout){0};
    takt_generator_destroy(sized);
    is_good = is_good && EXPECT_OK(ctx, open_texts(&p, &options, l.block_bytes * (blocks + 1))) &&
              EXPECT(p.kv->layout.blocks == blocks && p.kv->layout.bytes == p.kv->file.bytes) &&
              EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &one, &p.alone));
    for (size_t round = 0; round < ROUNDS && is_good; round++) {
        for (size_t i = 0; i < ROWS && is_good; i++)
            is_good = p.is_busy[i] || pick(&p, 3) > 0 || begin(&p, i);
        is_good = is_good && read_prompts(&p) && go_on(&p);
    }
    EXPECT(!is_good || (p.admitted > 8 && p.refused > 0 && p.taken > 0 && p.joined > 20),
           "%s: %zu texts, %zu waited, %zu parts joined", type, p.admitted, p.refused, p.joined);
    close_texts(&p);
}

static void same_bits(void)
{
    takt_ctx *ctx;
    if (!EXPECT(takt_ctx_create(NULL, &ctx) == TAKT_OK))
        return;
    random_texts(ctx, "f32", 1024, 10);
    random_texts(ctx, "f16", 1536, 8);
    random_texts(ctx, "bf16", 2048, 7);
    takt_ctx_destroy(ctx);
}

/* ---- step by step ---- */

/* Four blocks: one for each of two texts that share the first, which one of them then changes. */
static void copied_on_write(takt_ctx *ctx)
{
    static pool p;
    p = (pool){.ctx = ctx};
    if (EXPECT_OK(ctx, open_texts(&p, &small, (uint64_t)1 << 18)) &&
        EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &small, &p.alone))) {
        const size_t tokens = p.kv->layout.tokens, count = tokens + 3;
        takt_generator *a = p.texts[0], *b = p.texts[1];
        EXPECT(a->engine.session->arena == b->engine.session->arena,
               "every text has memory for activations");
        for (size_t i = 0; i < count; i++)
            p.ids[0][i] = p.ids[1][i] = (int32_t)(i * 5 % VOCABULARY);
        EXPECT_OK(ctx, takt_kv_admit(a, p.ids[0], count, count + 2));
        EXPECT_OK(ctx, takt_generator_read(a, p.ids[0], count));
        EXPECT_OK(ctx, takt_kv_admit(b, p.ids[1], count, count + 2));
        EXPECT((size_t)b->position == count - 1 && p.kv->blocks.shared_count == 1);
        EXPECT(p.kv->texts[0].table.at[0] == p.kv->texts[1].table.at[0] &&
               p.kv->texts[0].table.at[1] != p.kv->texts[1].table.at[1]);
        EXPECT_OK(ctx, takt_generator_rewind(a, 2)); /* into the shared block */
        EXPECT(p.kv->blocks.shared_count == 0);
        p.ids[0][2] = (p.ids[0][2] + 1) % VOCABULARY;
        EXPECT_OK(ctx, takt_generator_read(a, p.ids[0] + 2, count - 2));
        EXPECT_OK(ctx, takt_generator_read(b, p.ids[1] + count - 1, 1));
        EXPECT(is_same(&p, 0) && is_same(&p, 1));
        takt_generator_reset(b);
        EXPECT(b->position == 0);
        EXPECT_OK(ctx, takt_generator_read(b, p.ids[0], count));
        EXPECT(memcmp(a->scores, b->scores, VOCABULARY * sizeof(float)) == 0);
    }
    close_texts(&p);
}

/* A text that is being read is reused by one that began earlier. */
static void adopted(takt_ctx *ctx)
{
    static pool p;
    p = (pool){.ctx = ctx};
    if (EXPECT_OK(ctx, open_texts(&p, &small, (uint64_t)1 << 18)) &&
        EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &small, &p.alone))) {
        const size_t tokens = p.kv->layout.tokens, count = 2 * tokens + 9;
        size_t has;
        for (size_t i = 0; i < count; i++)
            p.ids[0][i] = p.ids[1][i] = (int32_t)(i * 3 % VOCABULARY);
        EXPECT_OK(ctx, takt_kv_admit(p.texts[0], p.ids[0], count, count + 2));
        EXPECT_OK(ctx, takt_kv_admit(p.texts[1], p.ids[1], count, count + 2));
        const size_t before = p.kv->blocks.free_count;
        EXPECT_OK(ctx, takt_generator_read(p.texts[1], p.ids[1], 5));
        EXPECT_OK(ctx, takt_generator_read(p.texts[0], p.ids[0], count - 4));
        EXPECT_OK(ctx, takt_kv_adopt(p.texts[1], p.ids[1], count, &has));
        EXPECT(has == count - 4 && p.kv->blocks.free_count == before + 2, "%zu", has);
        EXPECT_OK(ctx, takt_kv_adopt(p.texts[1], p.ids[1], count, &has));
        EXPECT(has == count - 4);
        EXPECT_OK(ctx, takt_generator_read(p.texts[1], p.ids[1] + has, count - has));
        EXPECT(is_same(&p, 1));
        EXPECT_OK(ctx, takt_kv_release(p.texts[0]));
        EXPECT_OK(ctx, takt_kv_release(p.texts[1])); /* begins with the other, which is dropped */
        EXPECT(p.kv->kept_count == 1 && p.kv->kept->count == count);
    }
    close_texts(&p);
}

/* Two texts have ended, the older of which was used more recently; a third needs a page of one. */
static void oldest_first(takt_ctx *ctx)
{
    static pool p;
    const int32_t a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[] = {9, 10, 9, 10};
    p = (pool){.ctx = ctx};
    if (EXPECT_OK(ctx, open_texts(&p, &small, 4 * 8192)) &&
        EXPECT(p.kv->layout.blocks == 3, "%zu", p.kv->layout.blocks)) {
        const size_t tokens = p.kv->layout.tokens;
        takt_generator *g = p.texts[1];
        for (int i = 0; i < 2; i++) {
            EXPECT_OK(ctx, takt_kv_admit(g, i == 0 ? a : b, 4, 5));
            EXPECT_OK(ctx, takt_generator_read(g, i == 0 ? a : b, 4));
            EXPECT_OK(ctx, takt_kv_release(g));
        }
        EXPECT(p.kv->kept_count == 2 && p.kv->kept->ids[0] == b[0]);
        EXPECT_OK(ctx, takt_kv_admit(g, a, 4, 5)); /* `a` is used again */
        EXPECT(g->position == 3 && p.kv->kept->ids[0] == a[0] && p.kv->blocks.free_count == 0);
        EXPECT_OK(ctx, takt_kv_release(g));
        EXPECT(takt_kv_fits(p.kv, c, 4, 2 * tokens));
        EXPECT_OK(ctx, takt_kv_admit(p.texts[0], c, 4, 2 * tokens));
        EXPECT(p.kv->kept_count == 1 && p.kv->kept->ids[0] == a[0], "%zu", p.kv->kept_count);
        EXPECT(!takt_kv_fits(p.kv, b, 4, 2 * tokens) && takt_kv_fits(p.kv, b, 4, tokens));
        EXPECT_STATUS(ctx, takt_kv_admit(g, b, 4, 2 * tokens), TAKT_ERR_MEMORY);
        EXPECT(p.kv->texts[1].table.count == 0 && g->position == 0);
    }
    close_texts(&p);
}

/* Whether a block is zero in all caches, or known not to be. */
static bool is_clean(const takt_kv *kv, uint32_t block)
{
    for (size_t i = 0; i < kv->layout.caches; i++) {
        const size_t bytes = kv->layout.tokens * kv->caches[i].token_bytes;
        const unsigned char *at = kv->file.all + kv->caches[i].offset + (block + 1) * bytes;
        for (size_t k = 0; k < bytes && !kv->blocks.is_dirty[block]; k++)
            if (at[k] != 0)
                return false;
    }
    return true;
}

/* A text is inactive with guesses that end at its first block, so the token that an inactive text
 * writes is in the second; blocks that it frees are zeroed, or marked as not zero. */
static void rested(takt_ctx *ctx)
{
    static pool p;
    p = (pool){.ctx = ctx};
    if (EXPECT_OK(ctx, open_texts(&p, &small, (uint64_t)1 << 18))) {
        const size_t tokens = p.kv->layout.tokens;
        const int32_t ids[ROWS] = {4, -1, 5, -1};
        uint32_t blocks[2];
        for (size_t i = 0; i < 3; i++)
            for (size_t k = 0; k < tokens; k++)
                p.ids[i][k] = (int32_t)((k * 3 + i) % VOCABULARY);
        for (size_t i = 0; i < 3; i++)
            EXPECT_OK(ctx, takt_kv_admit(p.texts[i], p.ids[i], 4, tokens + 4));
        for (size_t i = 0; i < 3; i += 2)
            EXPECT_OK(ctx, takt_generator_read(p.texts[i], p.ids[i], 4));
        takt_generator *g = p.texts[1];
        memcpy(blocks, p.kv->texts[1].table.at, sizeof blocks);
        EXPECT_OK(ctx, takt_generator_read(g, p.ids[1], tokens - 3));
        EXPECT_OK(ctx, takt_generator_open_ahead(g, 3));
        EXPECT_OK(ctx, takt_generator_read_ahead(g, p.ids[1] + tokens - 3, 3));
        EXPECT((size_t)g->position + g->ahead == tokens && g->ahead == 2);
        EXPECT_OK(ctx, takt_together_read(&p.together, ids));
        EXPECT(!is_clean(p.kv, blocks[1]), "a text that rests wrote nothing");
        EXPECT_OK(ctx, takt_kv_release(g));
        EXPECT(is_clean(p.kv, blocks[0]) && is_clean(p.kv, blocks[1]),
               "a block that was written is taken for zeros");
    }
    close_texts(&p);
}

static void refuse(takt_ctx *ctx, int64_t context, uint64_t bytes, int id)
{
    const takt_generator_options options = {.context = context, .threads = 1};
    takt_generator *g = NULL;
    EXPECT(takt_generator_open_first(ctx, tiny, &options, 2, bytes, &g) != TAKT_OK && g == NULL &&
               takt_last_error_info(ctx)->id == id,
           "%lld tokens, %llu bytes: %s", (long long)context, (unsigned long long)bytes,
           takt_last_error(ctx));
}

/* Each row has mappings in each cache before there is a text. */
static void refuse_rows(takt_ctx *ctx)
{
    takt_generator *g;
    EXPECT(takt_generator_open_first(ctx, tiny, &small, 16000, 1 << 20, &g) != TAKT_OK &&
               strstr(takt_last_error(ctx), "more mappings") != NULL,
           "%s", takt_last_error(ctx));
    takt_generator_destroy(g);
}

static void steps(void)
{
    takt_ctx *ctx;
    if (!EXPECT(takt_ctx_create(NULL, &ctx) == TAKT_OK))
        return;
    copied_on_write(ctx);
    adopted(ctx);
    oldest_first(ctx);
    rested(ctx);
    refuse_rows(ctx);
    refuse(ctx, 1024, 1, TAKT_E_OPTION);
    refuse(ctx, 1024, 4096, TAKT_E_OPTION);
    refuse(ctx, 1024, UINT64_MAX, TAKT_E_OPTION);
    refuse(ctx, 1001, 1 << 24, TAKT_E_OPTION);
    refuse(ctx, 1024, (uint64_t)1 << 44, TAKT_E_MEMORY);
    takt_ctx_destroy(ctx);
}

/* ---- what can fail ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    static pool p;
    takt_config config = {0};
    (void)user;
    p = (pool){.ctx = NULL};
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &p.ctx);
    if (status != TAKT_OK)
        return status;
    const takt_generator_options options = {.context = 1024, .threads = 1};
    const int32_t ids[] = {1, 5, 4, 10};
    const takt_inject_mode mode = inject->mode;
    inject->mode = TAKT_INJECT_OFF; /* opening a model has sweeps of its own */
    const uint64_t before = inject->operations;
    status = open_texts(&p, &options, 1 << 18);
    if (status == TAKT_OK)
        status = takt_kv_admit(p.texts[2], ids, 4, 600);
    if (status == TAKT_OK)
        status = takt_generator_read(p.texts[2], ids, 4);
    inject->operations = before;
    inject->mode = mode;
    takt_kv *other = NULL;
    if (status == TAKT_OK)
        status = takt_kv_open(p.ctx, p.texts[0]->engine.token_plan->graph, 1, 1 << 18, &other);
    takt_kv_close(other);
    if (status == TAKT_OK)
        status = takt_kv_release(p.texts[2]); /* without memory it is not kept */
    if (status == TAKT_OK)
        status = takt_kv_admit(p.texts[1], ids, 4, 600);
    inject->mode = TAKT_INJECT_OFF;
    close_texts(&p);
    takt_ctx_destroy(p.ctx);
    inject->mode = mode;
    return status;
}

static void swept(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(same_bits, steps, swept)
