/* statistics.c - what the driver says about samples, by the same code as `takt benchmark`. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/peak/peak.h"
#include "kernel/stream/stream.h"
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

/* ---- how fast the calling thread is where it is now ---- */

static double seconds_since(takt_ctx *ctx, uint64_t start)
{
    const uint64_t took = ctx->now_ns(ctx->clock_user) - start;
    return (double)(took > 0 ? took : 1) * 1e-9;
}

/* 10^9 f32 operations a second, the best of some slices of about 30 us: one interrupt is no
 * stranger. */
static double pace(takt_ctx *ctx)
{
    enum { ROUNDS = 8192, SLICES = 3 };
    const takt_kernel *k = takt_kernel_find("peak_f32", takt_isa_detect(), NULL, 0, NULL);
    _Alignas(64) float operands[TAKT_PEAK_BYTES / sizeof(float)];
    double best = 0, sum;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        operands[i] = 1;
    for (int i = 0; i < SLICES; i++) {
        const uint64_t start = ctx->now_ns(ctx->clock_user);
        const double operations = ((takt_peak_fn *)k->run)(ROUNDS, operands, &sum);
        best = fmax(best, operations / seconds_since(ctx, start) * 1e-9);
    }
    return best;
}

/* 10^9 bytes a second read from L2: a quarter of it, walked once without a look at the clock, then
 * the best of some walks of about 15 us. */
static double reach(takt_ctx *ctx)
{
    enum { MOST = 512 << 10, LEAST = 128 << 10, SLICES = 4, WALKS = 3 };
    _Alignas(64) static float memory[MOST / sizeof(float)];
    const uint64_t quarter = ceilings.cache_bytes[1] / 4;
    const size_t bytes = quarter > MOST ? MOST : quarter < LEAST ? LEAST : (size_t)quarter;
    const takt_kernel *k = takt_kernel_find("stream", takt_isa_detect(), NULL, 0, NULL);
    takt_stream walk = {.kind = TAKT_STREAM_READ, .streams = 4, .a = memory, .b = memory};
    walk.count = bytes / sizeof(float) / TAKT_STREAM_COUNT * TAKT_STREAM_COUNT;
    double best = 0, sum = takt_kernel_as_stream(k)(&walk);
    for (int i = 0; i < SLICES; i++) {
        const uint64_t start = ctx->now_ns(ctx->clock_user);
        for (int w = 0; w < WALKS; w++)
            sum += takt_kernel_as_stream(k)(&walk);
        best = fmax(best, WALKS * (double)bytes / seconds_since(ctx, start) * 1e-9);
    }
    return sum == 0 ? best : 0;
}

/* What the calling thread reaches where it is now, in f32 operations and in bytes read from L2,
 * 10^9 a second; takes about 0.2 ms. A stranger on the core's other thread lowers both. */
PEERS_API int peers_probe(double out[2])
{
    takt_ctx *ctx = context();
    if (ctx == NULL)
        return 1;
    out[0] = pace(ctx);
    out[1] = reach(ctx);
    return 0;
}
