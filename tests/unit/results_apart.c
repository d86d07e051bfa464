/* results_apart.c - results of different processes: no verdicts from noise, and 10 % is found. */
#include <takt/takt.h>

#include <math.h>

#include "base/mem.h"
#include "base/philox.h"
#include "measure/bench.h"
#include "stats/compare.h"
#include "test.h"

enum { PAIRS = 200, TIMES = 96, MOST_PROCESSES = 8 };

static takt_ctx *ctx;
static uint64_t drawn;

/* Normal, by Box and Muller. */
static double noise(void)
{
    const takt_philox_at where = {.seed = 23};
    uint32_t words[2];
    takt_philox_fill(&where, 2 * drawn++, 2, words);
    const double u = (words[0] + 0.5) / 4294967296.0, v = (words[1] + 0.5) / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* A shortcut, since computing the statistics of that many results would take minutes: the median of
 * normal times and its interval. Processes differ by `shift`, times by 0.5 %. */
static double level(double ns, double shift, double *error)
{
    *error = 0.005 * 1.2533 / sqrt(TIMES);
    return ns * (1 + shift * noise()) * (1 + *error * noise());
}

static takt_bench *result(size_t processes, double ns, double shift)
{
    takt_bench *b;
    takt_bench_row *r;
    void *samples;
    double error;
    EXPECT_OK(ctx, takt_bench_create(ctx, NULL, &b));
    EXPECT_OK(ctx, takt_bench_push(b, &r));
    EXPECT_OK(ctx, takt_mem_get(ctx, TIMES * sizeof(double), "times", &samples));
    const double median = level(ns, shift, &error);
    r->batch = r->threads = 1;
    r->noise = 0.002;
    r->timing = (takt_timing){.samples = samples, .count = TIMES, .capacity = TIMES};
    r->timing.stats.median = median;
    r->timing.stats.median_ci =
        (takt_interval){median * (1 - 1.96 * error), median * (1 + 1.96 * error)};
    for (int i = 0; i < TIMES; i++)
        r->timing.samples[i] = median;
    r->usage.processes = processes > 1 ? processes : 0;
    r->usage.process_medians = takt_arena_array(&b->arena, processes, sizeof(double));
    for (size_t i = 0; i < r->usage.processes; i++)
        r->usage.process_medians[i] = level(ns, shift, &error);
    return b;
}

/* Counts of each verdict, if B is `slower` times as slow. */
static void count(const size_t processes[2], double shift, double slower, int verdicts[4])
{
    for (int i = 0; i < 4; i++)
        verdicts[i] = 0;
    for (int i = 0; i < PAIRS; i++) {
        takt_comparison c;
        takt_bench *a = result(processes[0], 1e5, shift);
        takt_bench *b = result(processes[1], 1e5 * slower, shift);
        EXPECT_OK(ctx, takt_bench_compare(a, 0, b, 0, 0, &c));
        const bool is_verdict = c.verdict == TAKT_FASTER || c.verdict == TAKT_SLOWER;
        EXPECT(!is_verdict || fabs(log(c.ratio)) > log1p(c.detectable), "%g %% of %g %%",
               100 * (c.ratio - 1), 100 * c.detectable);
        EXPECT(c.ci.low < c.ratio && c.ratio < c.ci.high && c.margin == 0.01, "%g", c.ratio);
        EXPECT((c.verdict == TAKT_INCONCLUSIVE) == (c.more_blocks > 0), "%zu", c.more_blocks);
        verdicts[c.verdict]++;
        takt_bench_destroy(a);
        takt_bench_destroy(b);
    }
}

static void shifted(void)
{
    static const size_t sides[][2] = {{1, 1}, {1, 5}, {3, 3}, {5, 5}, {MOST_PROCESSES, 5}};
    int verdicts[4];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        count(sides[i], 0.01, 1, verdicts);
        EXPECT(20 * (verdicts[TAKT_FASTER] + verdicts[TAKT_SLOWER]) <= PAIRS,
               "%zu and %zu processes: %d faster, %d slower", sides[i][0], sides[i][1],
               verdicts[TAKT_FASTER], verdicts[TAKT_SLOWER]);
        count(sides[i], 0.01, 1.1, verdicts);
        EXPECT(20 * verdicts[TAKT_SLOWER] >= 19 * PAIRS,
               "%zu and %zu processes: 10 %% found %d "
               "times",
               sides[i][0], sides[i][1], verdicts[TAKT_SLOWER]);
    }
    count((size_t[2]){5, 5}, 0.001, 1, verdicts);
    EXPECT(20 * verdicts[TAKT_SAME] >= 19 * PAIRS, "the same: %d", verdicts[TAKT_SAME]);
    takt_ctx_destroy(ctx);
}

/* A result's notes about the machine widen the interval; a file compared with itself is the
 * same. */
static void busy(void)
{
    takt_comparison quiet, loud, same;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_bench *a = result(1, 1e5, 0), *b = result(1, 1.06e5, 0);
    EXPECT_OK(ctx, takt_bench_compare(a, 0, b, 0, 0, &quiet));
    EXPECT(quiet.verdict == TAKT_SLOWER && quiet.processes == 1, "%g", quiet.ratio);
    a->others.processors = b->others.processors = 2;
    EXPECT(takt_bench_grade(a)[0] == 'D', "%s", takt_bench_grade(a));
    EXPECT_OK(ctx, takt_bench_compare(a, 0, b, 0, 0, &loud));
    EXPECT(loud.verdict == TAKT_INCONCLUSIVE && loud.detectable > quiet.detectable, "%g",
           loud.detectable);
    EXPECT_OK(ctx, takt_bench_compare(a, 0, a, 0, 0, &same));
    EXPECT(same.verdict == TAKT_SAME && same.ratio == 1, "%g", same.ratio);
    EXPECT(takt_bench_compare(a, 0, b, 1, 0, &same) == TAKT_ERR_ARGUMENT, "no such case");
    b->rows[0].timing.count = 3;
    EXPECT(takt_bench_compare(a, 0, b, 0, 0, &same) == TAKT_ERR_ARGUMENT, "too few");
    takt_bench_destroy(a);
    takt_bench_destroy(b);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(shifted, busy)
