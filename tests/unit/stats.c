/* stats.c - statistics against SciPy, coverage by simulation, warm-up, and verdicts. */
#include "stats/stats.h"

#include <math.h>
#include <stdint.h>

#include "base/philox.h"
#include "stats/compare.h"
#include "stats/special.h"
#include "stats_scipy.inc"
#include "test.h"

enum { MOST = 4096 };

static takt_ctx *ctx;
static double values[MOST], scratch[2 * MOST], pairs[MOST * 40];

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static bool close_to(double got, double want)
{
    return fabs(got - want) <= 1e-9 * fmax(1, fabs(want));
}

/* The same numbers as sample() in _stats_scipy.py. */
static void make_sample(double *to, size_t count, uint64_t state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        to[i] = 1000.0 + (double)((state >> 40) % 5000) + ((state >> 33) % 37 == 0 ? 50000 : 0);
    }
}

static void distributions(void)
{
    for (size_t i = 0; i < sizeof student / sizeof *student; i++) {
        const double got = takt_student_quantile(student[i].p, student[i].freedom);
        EXPECT(close_to(got, student[i].quantile), "t(%g, %g) %.17g, SciPy %.17g", student[i].p,
               student[i].freedom, got, student[i].quantile);
    }
    for (size_t i = 0; i < sizeof normal / sizeof *normal; i++) {
        const double got = takt_normal_cdf(normal[i].quantile);
        EXPECT(close_to(got, normal[i].p), "P(Z <= %g) %.17g", normal[i].quantile, got);
    }
    for (size_t i = 0; i < sizeof binomial / sizeof *binomial; i++) {
        const double got = takt_binomial_cdf(binomial[i].k, binomial[i].n, binomial[i].p);
        EXPECT(close_to(got, binomial[i].cdf), "B(%g; %g, %g) %.17g, SciPy %.17g", binomial[i].k,
               binomial[i].n, binomial[i].p, got, binomial[i].cdf);
    }
}

static void descriptions(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        takt_stats s;
        make_sample(values, samples[i].n, samples[i].seed);
        EXPECT_OK(ctx, takt_stats_compute(ctx, values, samples[i].n, &s));
        EXPECT(close_to(s.mean, samples[i].mean) && close_to(s.std, samples[i].std), "%.17g %.17g",
               s.mean, s.std);
        EXPECT(close_to(s.median, samples[i].median) && close_to(s.mad, samples[i].mad));
        const double low = s.min >= 0 && samples[i].low < 0 ? 0 : samples[i].low;
        EXPECT(close_to(s.mean_ci.low, low) && close_to(s.mean_ci.high, samples[i].high),
               "%.17g %.17g", s.mean_ci.low, s.mean_ci.high);
        for (int q = 0; q < TAKT_PERCENTILES; q++)
            EXPECT(close_to(s.percentiles[q].value, samples[i].q[q]), "%zu %d", i, q);
        EXPECT(close_to(takt_hodges_lehmann(values, samples[i].n, pairs), samples[i].hl));
        EXPECT_IS(s.mild + s.severe, <=, s.count);
    }
    for (size_t i = 0; i < sizeof equivalence / sizeof *equivalence; i++) {
        make_sample(values, equivalence[i].n, equivalence[i].seed);
        for (size_t k = 0; k < equivalence[i].n; k++)
            values[k] = fmod(values[k], 1000) / 1000 - 0.5;
        const double p = takt_equivalence_p(values, equivalence[i].n, equivalence[i].margin);
        EXPECT(close_to(p, equivalence[i].p), "%.17g, SciPy %.17g", p, equivalence[i].p);
    }
}

static void bad_samples(void)
{
    takt_stats s;
    EXPECT_STATUS(ctx, takt_stats_compute(ctx, values, 0, &s), TAKT_ERR_ARGUMENT);
    values[0] = 1;
    values[1] = NAN;
    EXPECT_STATUS(ctx, takt_stats_compute(ctx, values, 2, &s), TAKT_ERR_ARGUMENT);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_SAMPLE);
    takt_comparison c;
    EXPECT_STATUS(ctx, takt_compare_blocks(ctx, values, values, 3, 0.01, &c), TAKT_ERR_ARGUMENT);
}

/* Number of values from which a percentile is bounded on both sides. */
static void resolution(void)
{
    static const struct {
        double p;
        size_t least;
    } rows[] = {{0.5, 6}, {0.9, 36}, {0.95, 72}, {0.99, 368}, {0.999, 3688}};
    for (size_t i = 0; i < MOST; i++)
        values[i] = (double)i;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT(takt_quantile_ci(values, rows[i].least, rows[i].p, 0.95).resolved, "%g", rows[i].p);
        EXPECT(!takt_quantile_ci(values, rows[i].least - 1, rows[i].p, 0.95).resolved, "%g",
               rows[i].p);
    }
}

static double draw(uint64_t element)
{
    const takt_philox_at at = {.seed = 99, .stream = 5};
    return takt_philox_normal(&at, element);
}

/* 1,000 samples of known distributions: intervals cover at their rate, and not much oftener. */
static void coverage(void)
{
    enum { DRAWS = 1000, N = 60 };
    int mean = 0, median = 0, ninety = 0;
    for (uint64_t d = 0; d < DRAWS; d++) {
        takt_stats s;
        for (size_t i = 0; i < N; i++)
            values[i] = draw(d * N + i);
        EXPECT_OK(ctx, takt_stats_compute(ctx, values, N, &s));
        mean += s.mean_ci.low <= 0 && s.mean_ci.high >= 0;
        median += s.median_ci.low <= 0 && s.median_ci.high >= 0;
        const takt_interval p90 = s.percentiles[1].ci;
        ninety += p90.low <= 1.2815515655446004 && p90.high >= 1.2815515655446004;
    }
    EXPECT(mean >= 930 && mean <= 970, "%d", mean);
    EXPECT(median >= 930 && median <= 985, "%d", median); /* order statistics: at least 95 % */
    EXPECT(ninety >= 930 && ninety <= 990, "%d", ninety);
}

static void settling(void)
{
    for (size_t i = 0; i < 200; i++)
        values[i] = 100 + draw(70000 + i);
    EXPECT_EQ(takt_settle_index(values, 200, scratch), 0);
    for (size_t i = 0; i < 25; i++)
        values[i] = 130 + draw(i);
    const size_t at = takt_settle_index(values, 200, scratch);
    EXPECT(at >= 23 && at <= 27, "%zu", at);
    for (size_t i = 0; i < 25; i++)
        values[i] = 100 + draw(i);
    values[0] = 1000; /* a first run alone */
    EXPECT_EQ(takt_settle_index(values, 200, scratch), 1);
    for (size_t i = 150; i < 200; i++)
        values[i] += 30; /* slower at the end is not a warm-up */
    EXPECT_EQ(takt_settle_index(values, 200, scratch), 1);
    EXPECT_EQ(takt_settle_index(values, 1, scratch), 0);
    EXPECT_EQ(takt_settle_index(values, 0, scratch), 0);
}

/* Block medians with 1 % noise and heavy tails. */
static void blocks(uint64_t draw_at, size_t count, double factor, double *a, double *b)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t e = draw_at + 4 * i;
        const double drift = 0.02 * draw(e + 2);
        a[i] = 1000 * exp(drift + 0.01 * draw(e) + (draw(e + 3) > 2 ? 0.05 : 0));
        b[i] = 1000 * factor * exp(drift + 0.01 * draw(e + 1));
    }
}

static void verdicts(void)
{
    enum { ROUNDS = 200, N = 24 };
    double a[N], b[N];
    int wrong = 0, found = 0, same = 0;
    takt_comparison c;
    for (uint64_t r = 0; r < ROUNDS; r++) {
        blocks(1000000 + r * 4 * N, N, 1.0, a, b);
        EXPECT_OK(ctx, takt_compare_blocks(ctx, a, b, N, 0.01, &c));
        wrong += c.verdict == TAKT_FASTER || c.verdict == TAKT_SLOWER;
        same += c.verdict == TAKT_SAME;
        EXPECT_IS(c.ci.low, <=, c.ratio);
        EXPECT_IS(c.ratio, <=, c.ci.high);
        EXPECT_IS(c.detectable, >, 0);
        blocks(9000000 + r * 4 * N, N, 1.03, a, b);
        EXPECT_OK(ctx, takt_compare_blocks(ctx, a, b, N, 0.01, &c));
        found += c.verdict == TAKT_SLOWER;
    }
    EXPECT(wrong <= ROUNDS / 20, "%d of %d A/A comparisons gave a verdict", wrong, ROUNDS);
    EXPECT(found >= ROUNDS * 9 / 10, "%d of %d slowdowns of 3 %% were found", found, ROUNDS);
    EXPECT(same >= ROUNDS / 4, "%d", same);
    blocks(5, N, 0.9, a, b);
    EXPECT_OK(ctx, takt_compare_blocks(ctx, a, b, N, 0.01, &c));
    EXPECT(c.verdict == TAKT_FASTER && fabs(c.ratio - 0.9) < 0.01, "%g", c.ratio);
    blocks(77, 5, 1.008, a, b);
    EXPECT_OK(ctx, takt_compare_blocks(ctx, a, b, 5, 0.001, &c));
    EXPECT_EQ(c.verdict, TAKT_INCONCLUSIVE);
    EXPECT_IS(c.more_blocks, >, 0);
}

static void noise_floor(void)
{
    double floor;
    for (size_t i = 0; i < 960; i++)
        values[i] = 1000 * exp(0.01 * draw(400000 + i));
    EXPECT_OK(ctx, takt_noise_floor(ctx, values, 960, &floor));
    EXPECT(floor > 0 && floor < 0.01, "%g", floor);
    EXPECT_OK(ctx, takt_noise_floor(ctx, values, 10, &floor));
    EXPECT_EQ(floor, 0);
}

/* Times are never negative, and neither is the mean of times with an outlier among them. */
static void mean_of_times(void)
{
    const double times[] = {1, 1, 1, 100}, signs[] = {-1, 1, 1, 100};
    takt_stats s;
    EXPECT_OK(ctx, takt_stats_compute(ctx, times, 4, &s));
    EXPECT(s.mean_ci.low == 0 && s.mean_ci.high > 100, "%g", s.mean_ci.low);
    EXPECT_OK(ctx, takt_stats_compute(ctx, signs, 4, &s));
    EXPECT(s.mean_ci.low < -1, "%g", s.mean_ci.low);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, distributions, descriptions, bad_samples, resolution, coverage, settling, verdicts,
          noise_floor, mean_of_times, end)
