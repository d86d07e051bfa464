/* statistics.c - what the driver says about samples, by the same code as `takt benchmark`. */
#include <string.h>

#include "base/error.h"
#include "kernel/peak/peak.h"
#include "measure/ceilings.h"
#include "measure/compare.h"

#define PEERS_API __attribute__((visibility("default")))

static takt_ctx *context(void)
{
    static takt_ctx *ctx;
    if (ctx == NULL && takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return NULL;
    return ctx;
}

/* median, its interval, p99. */
PEERS_API int peers_stats(const double *values, size_t count, double out[4])
{
    takt_stats s;
    takt_ctx *ctx = context();
    if (ctx == NULL || takt_stats_compute(ctx, values, count, &s) != TAKT_OK)
        return 1;
    const double all[4] = {s.median, s.median_ci.low, s.median_ci.high, s.percentiles[3].value};
    memcpy(out, all, sizeof all);
    return 0;
}

/* Time of b over time of a by the medians of blocks taken in turns: ratio, interval; and whether
 * the difference is real: the verdict's number, TAKT_SAME and so on. */
PEERS_API int peers_compare(const double *a, const double *b, size_t count, double margin,
                            double out[4])
{
    takt_comparison c;
    takt_ctx *ctx = context();
    if (ctx == NULL || takt_compare_blocks(ctx, a, b, count, margin, &c) != TAKT_OK)
        return 1;
    const double all[4] = {c.ratio, c.ci.low, c.ci.high, (double)c.verdict};
    memcpy(out, all, sizeof all);
    return 0;
}

PEERS_API const char *peers_verdict(int verdict)
{
    return takt_verdict_name((takt_verdict)verdict);
}

static takt_ceilings ceilings;

/* Measures what the machine can do. */
PEERS_API int peers_measure(char fingerprint[17], int *threads)
{
    takt_ctx *ctx = context();
    if (ctx == NULL || takt_ceilings_get(ctx, NULL, true, &ceilings) != TAKT_OK)
        return 1;
    memcpy(fingerprint, ceilings.fingerprint, sizeof ceilings.fingerprint);
    *threads = ceilings.all.threads;
    return 0;
}

/* f32, f64, int8, f16 and bf16 peak, then read and copy bandwidth of each level, of one thread or
 * all. */
PEERS_API void peers_ceiling(int all_threads, double out[5 + 2 * TAKT_LEVELS])
{
    const takt_ceiling *c = all_threads ? &ceilings.all : &ceilings.one;
    out[0] = c->f32_gflops;
    out[1] = c->f64_gflops;
    out[2] = c->int8_gops;
    out[3] = c->f16_gflops;
    out[4] = c->bf16_gflops;
    memcpy(out + 5, c->read_gbs, sizeof c->read_gbs);
    memcpy(out + 5 + TAKT_LEVELS, c->copy_gbs, sizeof c->copy_gbs);
}

/* The level that so many bytes, shared out among the threads, stay in. */
PEERS_API int peers_level(double bytes_per_thread)
{
    return takt_ceilings_level(&ceilings, bytes_per_thread);
}

static double peak_seconds(takt_peak_fn *peak, const void *operands, size_t rounds)
{
    takt_ctx *ctx = context();
    double sum;
    const uint64_t start = ctx->now_ns(ctx->clock_user);
    peak(rounds, operands, &sum);
    return (double)(ctx->now_ns(ctx->clock_user) - start) * 1e-9;
}

/* Seconds that the calling thread needs for some 0.3 ms of f32 arithmetic where it is now: shows
 * which processor shares its units with a stranger. */
PEERS_API double peers_pace(void)
{
    enum { ROUNDS = 16384 };
    const takt_kernel *k = takt_kernel_find("peak_f32", takt_isa_detect(), NULL, 0, NULL);
    _Alignas(64) float operands[TAKT_PEAK_BYTES / sizeof(float)];
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        operands[i] = 1;
    if (k == NULL || context() == NULL)
        return 0;
    peak_seconds((takt_peak_fn *)k->run, operands, ROUNDS / 4);
    return peak_seconds((takt_peak_fn *)k->run, operands, ROUNDS);
}
