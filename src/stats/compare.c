/* compare.c - paired bootstrap of block medians, two one-sided tests, and the verdict. */
#include "stats/compare.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/philox.h"
#include "stats/special.h"
#include "stats/stats.h"

enum { RESAMPLES = 2000, LEAST_BLOCKS = 4, NOISE_BLOCKS = 24, MOST_PAIRED = 80 };

double takt_equivalence_p(const double *values, size_t count, double margin)
{
    const double mean = takt_sample_mean(values, count);
    const double error = takt_sample_deviation(values, count, mean) / sqrt((double)count);
    if (count < 2)
        return 1;
    if (error == 0)
        return fabs(mean) < margin ? 0 : 1;
    const double below = 1 - takt_student_cdf((mean + margin) / error, (double)count - 1);
    const double above = takt_student_cdf((mean - margin) / error, (double)count - 1);
    return fmax(below, above);
}

/* Percentiles of a bootstrap are too close together for few values; these are moved outwards so
 * that the interval of a normal sample is that of Student's t (Hesterberg's expansion). */
static double outward_tail(size_t count, double tail)
{
    const double n = (double)count;
    return takt_normal_cdf(sqrt(n / (n - 1)) * takt_student_quantile(tail, n - 1));
}

/* A centre that a few disturbed blocks cannot move: the Hodges-Lehmann estimate, and for many
 * blocks the mean of the middle half, which is nearly as good and needs no pairs. Reorders
 * `values`. */
static double centre(double *values, size_t count, double *pairs)
{
    if (count <= MOST_PAIRED)
        return takt_hodges_lehmann(values, count, pairs);
    takt_sort_doubles(values, count);
    return takt_sample_mean(values + count / 4, count - 2 * (count / 4));
}

/* Interval of the estimate of `values`; scratch has room for everything. */
static takt_interval resample(const double *values, size_t count, double *scratch)
{
    const takt_philox_at at = {.seed = 0x7a6b7463, .stream = 1};
    double *estimates = scratch, *drawn = scratch + RESAMPLES, *pairs = drawn + count;
    uint64_t word = 0;
    for (size_t r = 0; r < RESAMPLES; r++) {
        takt_draw(&at, &word, values, drawn, count);
        estimates[r] = centre(drawn, count, pairs);
    }
    takt_sort_doubles(estimates, RESAMPLES);
    const double tail = outward_tail(count, 0.025);
    return (takt_interval){takt_quantile(estimates, RESAMPLES, tail),
                           takt_quantile(estimates, RESAMPLES, 1 - tail)};
}

/* Two runs of one program differ slightly and permanently: by the addresses of their memory. So a
 * difference must be certain and larger than the margin. */
static takt_verdict judge(takt_interval log_ci, double estimate, double log_margin)
{
    if (log_ci.low > -log_margin && log_ci.high < log_margin)
        return TAKT_SAME;
    if (log_ci.high < 0 && estimate < -log_margin)
        return TAKT_FASTER;
    return log_ci.low > 0 && estimate > log_margin ? TAKT_SLOWER : TAKT_INCONCLUSIVE;
}

/* Blocks after which an interval of this width would have shrunk to the margin. */
static size_t missing_blocks(size_t count, double half, double log_margin)
{
    const double factor = half / (0.5 * log_margin);
    const double want = ceil((double)count * factor * factor);
    return want > (double)count ? (size_t)fmin(want - (double)count, 1e6) : 1;
}

static void conclude(const double *d, size_t count, double *scratch, double margin,
                     takt_comparison *c)
{
    const double log_margin = log1p(margin);
    double *copy = scratch, *pairs = scratch + count;
    memcpy(copy, d, count * sizeof *d);
    const double estimate = centre(copy, count, pairs);
    const takt_interval ci = resample(d, count, scratch);
    const double sure = takt_student_quantile(0.975, (double)count - 1);
    const double often = takt_student_quantile(0.8, (double)count - 1);
    c->blocks = count;
    c->ratio = exp(estimate);
    c->ci = (takt_interval){exp(ci.low), exp(ci.high)};
    c->margin = margin;
    c->same_p = takt_equivalence_p(d, count, log_margin);
    c->verdict = judge(ci, estimate, log_margin);
    c->detectable = expm1((ci.high - ci.low) / 2 * (sure + often) / sure);
    if (c->verdict == TAKT_INCONCLUSIVE)
        c->more_blocks = missing_blocks(count, (ci.high - ci.low) / 2, log_margin);
}

takt_status takt_compare_blocks(takt_ctx *ctx, const double *a, const double *b, size_t count,
                                double margin, takt_comparison *c)
{
    void *block;
    *c = (takt_comparison){.verdict = TAKT_INCONCLUSIVE, .margin = margin, .blocks = count};
    if (count < LEAST_BLOCKS)
        return takt_fail(ctx, TAKT_E_SAMPLE, "%zu blocks are too few to compare; %d are the least",
                         count, LEAST_BLOCKS);
    for (size_t i = 0; i < count; i++)
        if (!(a[i] > 0) || !(b[i] > 0) || !isfinite(a[i]) || !isfinite(b[i]))
            return takt_fail(ctx, TAKT_E_SAMPLE, "block %zu has a time that is not positive", i);
    const size_t paired = count <= MOST_PAIRED ? count : 0;
    const size_t room = RESAMPLES + 3 * count + paired * (paired + 1) / 2;
    TAKT_TRY(takt_mem_zero(ctx, room, sizeof(double), "a comparison", &block));
    double *d = block;
    for (size_t i = 0; i < count; i++)
        d[i] = log(b[i] / a[i]);
    conclude(d, count, d + count, margin, c);
    takt_mem_put(ctx, block, room * sizeof(double));
    return TAKT_OK;
}

takt_status takt_compare_finish(takt_ctx *ctx, const double *a, const double *b, size_t count,
                                double margin, takt_comparison *c)
{
    void *block;
    takt_comparison same;
    const size_t half = count / 2;
    TAKT_TRY(takt_compare_blocks(ctx, a, b, count, margin, c));
    if (half < LEAST_BLOCKS)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(ctx, 2 * half * sizeof *a, "a comparison", &block));
    double *even = block, *odd = even + half;
    for (size_t i = 0; i < half; i++) { /* alternately, so that a drift affects both */
        even[i] = a[2 * i + i % 2];
        odd[i] = a[2 * i + 1 - i % 2];
    }
    const takt_status status = takt_compare_blocks(ctx, even, odd, half, margin, &same);
    takt_mem_put(ctx, block, 2 * half * sizeof *a);
    TAKT_TRY(status);
    /* From half as many pairs as A and B have: with all of them it would be narrower. */
    c->noise = expm1(log1p(fmax(same.ci.high - 1, 1 - same.ci.low)) / sqrt(2));
    if (c->verdict != TAKT_SAME && fabs(log(c->ratio)) < log1p(c->noise)) {
        c->verdict = TAKT_INCONCLUSIVE;
        c->more_blocks = c->more_blocks > 0 ? c->more_blocks : count;
    }
    return TAKT_OK;
}

bool takt_compare_is_look(size_t blocks)
{
    size_t look = 8;
    while (look < blocks)
        look *= 3;
    return look == blocks;
}

bool takt_compare_is_done(const takt_comparison *c)
{
    return c->verdict == TAKT_SAME || c->ci.low > 1 + c->margin || c->ci.high < 1 / (1 + c->margin);
}

takt_status takt_noise_floor(takt_ctx *ctx, const double *samples, size_t count, double *floor)
{
    _Static_assert(TAKT_NOISE_TIMES == 2 * NOISE_BLOCKS, "every block has a time");
    const size_t each = count / (2 * NOISE_BLOCKS);
    double a[NOISE_BLOCKS], b[NOISE_BLOCKS];
    void *block;
    takt_comparison c;
    *floor = 0;
    if (each == 0)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(ctx, each * sizeof *samples, "the noise floor", &block));
    for (size_t i = 0; i < 2 * NOISE_BLOCKS; i++) {
        memcpy(block, samples + i * each, each * sizeof *samples);
        const size_t pair = i / 2;
        /* AB BA AB BA: a drift then affects both. */
        *((i + pair) % 2 == 0 ? &a[pair] : &b[pair]) = takt_median_in_place(block, each);
    }
    takt_mem_put(ctx, block, each * sizeof *samples);
    TAKT_TRY(takt_compare_blocks(ctx, a, b, NOISE_BLOCKS, 0.01, &c));
    *floor = fmax(c.ci.high - 1, 1 - c.ci.low);
    return TAKT_OK;
}
