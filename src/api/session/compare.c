/* compare.c - two sessions run alternately, A B B A, until the verdict is clear. */
#include "stats/compare.h"

#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/options.h"
#include "stats/stats.h"

enum { USUAL_BLOCKS = 400, MOST_BLOCKS = 100000, MOST_RUNS = 512, LEAST_BLOCKS = 4 };

typedef struct duel {
    takt_session *a, *b;
    takt_ctx *ctx;
    size_t most;                   /* blocks */
    double *a_medians, *b_medians; /* `most` each */
    double *times;                 /* 2 * MOST_RUNS: one side of a block */
    size_t blocks, runs;           /* runs: of one side in half a block */
    double inject;                 /* how much B is slowed down */
} duel;

const char *takt_verdict_name(takt_verdict verdict)
{
    static const char *const names[] = {"same", "faster", "slower", "inconclusive"};
    return verdict <= TAKT_INCONCLUSIVE ? names[verdict] : "unknown";
}

static uint64_t now(const duel *d)
{
    return d->ctx->now_ns(d->ctx->clock_user);
}

/* As long as the run took, times `inject`. */
static void linger(const duel *d, uint64_t start)
{
    const double took = (double)(now(d) - start);
    const uint64_t end = start + (uint64_t)(took * (1 + d->inject));
    while (now(d) < end)
        continue;
}

static takt_status run_some(const duel *d, takt_session *s, double *times)
{
    for (size_t i = 0; i < d->runs; i++) {
        const uint64_t start = now(d);
        TAKT_TRY(takt_session_run(s));
        if (d->inject > 0 && s == d->b)
            linger(d, start);
        times[i] = fmax(1, (double)(now(d) - start));
    }
    return TAKT_OK;
}

/* A B B A; every other pair of blocks begins with B, so that no side is always first. */
static takt_status run_block(duel *d)
{
    const bool is_reversed =
        d->blocks / 2 % 2 != 0; /* sessions are created in the other order every block */
    takt_session *outer = is_reversed ? d->b : d->a, *inner = is_reversed ? d->a : d->b;
    double *first = d->times, *second = d->times + 2 * MOST_RUNS;
    TAKT_TRY(run_some(d, outer, first));
    TAKT_TRY(run_some(d, inner, second));
    TAKT_TRY(run_some(d, inner, second + d->runs));
    TAKT_TRY(run_some(d, outer, first + d->runs));
    d->a_medians[d->blocks] = takt_median_in_place(is_reversed ? second : first, 2 * d->runs);
    d->b_medians[d->blocks] = takt_median_in_place(is_reversed ? first : second, 2 * d->runs);
    d->blocks++;
    return TAKT_OK;
}

/* About 2 ms a quarter, so that a block is short compared with drift and long compared with the
 * clock's resolution. */
static takt_status choose_runs(duel *d)
{
    d->runs = 1;
    TAKT_TRY(run_some(d, d->a, d->times));
    TAKT_TRY(run_some(d, d->b, d->times));
    d->runs = 3;
    TAKT_TRY(run_some(d, d->a, d->times));
    const double ns = takt_median_in_place(d->times, 3);
    d->runs = (size_t)fmin(MOST_RUNS, fmax(1, 2e6 / ns));
    return TAKT_OK;
}

/* New sessions, each run twice: the first run is not yet steady. */
static takt_status renew(duel *d, const takt_compare_options *o)
{
    const size_t runs = d->runs;
    if (o->renew == NULL || d->blocks == 0)
        return TAKT_OK;
    TAKT_TRY(o->renew(o->user, d->blocks % 2 != 0, &d->a, &d->b));
    d->runs = 2;
    TAKT_TRY(run_some(d, d->a, d->times));
    TAKT_TRY(run_some(d, d->b, d->times));
    d->runs = runs;
    return TAKT_OK;
}

static takt_status keep_blocks(const duel *d, const double *medians, takt_timing *t)
{
    void *samples;
    *t = (takt_timing){.is_complete = true};
    TAKT_TRY(takt_mem_get(d->ctx, d->blocks * sizeof(double), "blocks", &samples));
    t->samples = samples;
    t->count = t->capacity = d->blocks;
    memcpy(t->samples, medians, d->blocks * sizeof(double));
    return takt_stats_compute(d->ctx, t->samples, t->count, &t->stats);
}

static takt_status fight(duel *d, const takt_compare_options *o, takt_comparison *c)
{
    const uint64_t begun = now(d), max_ns = o->max_ns > 0 ? o->max_ns : 3000000000;
    const double margin = o->margin > 0 ? o->margin : 0.01;
    takt_status status = TAKT_OK;
    TAKT_TRY(choose_runs(d));
    while (d->blocks < d->most) {
        status = renew(d, o);
        if (status == TAKT_OK)
            status = run_block(d);
        if (status == TAKT_ERR_CANCELLED && d->blocks >= LEAST_BLOCKS)
            break; /* the measurements until then are compared */
        TAKT_TRY(status);
        const bool late = d->blocks >= LEAST_BLOCKS && now(d) - begun >= max_ns;
        if (o->blocks == 0 && (takt_compare_is_look(d->blocks) || late)) {
            TAKT_TRY(takt_compare_finish(d->ctx, d->a_medians, d->b_medians, d->blocks, margin, c));
            if (late || takt_compare_is_done(c))
                break;
        }
    }
    TAKT_TRY(takt_compare_finish(d->ctx, d->a_medians, d->b_medians, d->blocks, margin, c));
    if (o->a_blocks != NULL && o->b_blocks != NULL) {
        TAKT_TRY(keep_blocks(d, d->a_medians, o->a_blocks));
        TAKT_TRY(keep_blocks(d, d->b_medians, o->b_blocks));
    }
    c->a_ns = takt_median_in_place(d->a_medians, d->blocks);
    c->b_ns = c->a_ns * c->ratio; /* B's own median may contradict the pairs */
    return status;
}

takt_status takt_session_compare(takt_session *a, takt_session *b,
                                 const takt_compare_options *options, takt_comparison *c)
{
    TAKT_NEED(NULL, a);
    TAKT_NEED(NULL, c);
    takt_compare_options o;
    void *block;
    *c = (takt_comparison){.verdict = TAKT_INCONCLUSIVE};
    TAKT_TRY(takt_options_read(a->ctx, "takt_compare_options", options, &o, sizeof o));
    if (o.blocks > MOST_BLOCKS)
        return takt_fail(a->ctx, TAKT_E_ARGUMENT, "%zu blocks; there may be %d at most", o.blocks,
                         MOST_BLOCKS);
    const size_t most = o.blocks > 0 ? o.blocks : USUAL_BLOCKS;
    const size_t room = 2 * most + 4 * MOST_RUNS;
    TAKT_TRY(takt_mem_zero(a->ctx, room, sizeof(double), "a comparison", &block));
    double *at = block;
    duel d = {.a = a, .b = b, .ctx = a->ctx, .most = most, .a_medians = at, .b_medians = at + most};
    d.times = at + 2 * most;
    d.inject = options != NULL ? options->inject : 0;
    const takt_status status = fight(&d, &o, c);
    takt_mem_put(d.ctx, block, room * sizeof(double)); /* `a` may have been renewed */
    return status;
}

/* Medians of `blocks` equal parts. */
static takt_status block_medians(takt_ctx *ctx, const takt_timing *t, size_t blocks, double *to)
{
    const size_t each = t->count / blocks;
    void *part;
    TAKT_TRY(takt_mem_get(ctx, each * sizeof(double), "a comparison", &part));
    for (size_t i = 0; i < blocks; i++) {
        memcpy(part, t->samples + i * each, each * sizeof(double));
        to[i] = takt_median_in_place(part, each);
    }
    takt_mem_put(ctx, part, each * sizeof(double));
    return TAKT_OK;
}

takt_status takt_timing_compare(takt_ctx *ctx, const takt_timing *a, const takt_timing *b,
                                double margin, takt_comparison *c)
{
    TAKT_NEED(ctx, a);
    enum { BLOCKS = 24 };
    double left[BLOCKS], right[BLOCKS];
    const size_t least = a->count < b->count ? a->count : b->count;
    const size_t blocks = least < BLOCKS ? least : BLOCKS;
    *c = (takt_comparison){.verdict = TAKT_INCONCLUSIVE, .margin = margin};
    if (blocks < 4)
        return takt_fail(ctx, TAKT_E_SAMPLE, "%zu and %zu times are too few to compare", a->count,
                         b->count);
    TAKT_TRY(block_medians(ctx, a, blocks, left));
    TAKT_TRY(block_medians(ctx, b, blocks, right));
    TAKT_TRY(takt_compare_blocks(ctx, left, right, blocks, margin > 0 ? margin : 0.01, c));
    c->a_ns = a->stats.median;
    c->b_ns = b->stats.median;
    return takt_noise_floor(ctx, a->samples, a->count, &c->noise);
}
