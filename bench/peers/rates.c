/* rates.c - the maximum rates of this machine, and the current speed of the calling thread. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "context.h"
#include "kernel/peak/peak.h"
#include "kernel/stream/stream.h"
#include "measure/ceilings.h"

static takt_ceilings ceilings;

static double seconds_since(takt_ctx *ctx, uint64_t start)
{
    const uint64_t took = ctx->now_ns(ctx->clock_user) - start;
    return (double)(took > 0 ? took : 1) * 1e-9;
}

/* Measures the rates that the machine can reach. */
PEERS_API int peers_measure(char fingerprint[17], int *threads)
{
    takt_ctx *ctx = peers_context();
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

/* The cache level that this many bytes, divided among the threads, fit into. */
PEERS_API int peers_level(double bytes_per_thread)
{
    return takt_ceilings_level(&ceilings, bytes_per_thread);
}

/* ---- more of the ceilings, at a better time ---- */

/* The threads that probes run on: the calling one, or all; none if out of memory. */
static takt_probe *load(int all_threads)
{
    enum { BYTES = 256 << 20 };
    static takt_probe probes[2];
    takt_probe *p = &probes[all_threads != 0];
    const takt_probe *other = &probes[all_threads == 0];
    if (p->threads > 0 || peers_context() == NULL)
        return p;
    takt_probe made = {.ctx = peers_context(),
                       .threads = 1,
                       .bytes = BYTES,
                       .memory = other->memory,
                       .is_usual = true};
    if (all_threads) {
        if (takt_pool_create(made.ctx, ceilings.all.threads, NULL, &made.pool) != TAKT_OK)
            return p;
        made.threads = ceilings.all.threads;
    }
    if (made.memory == NULL) {
        if (takt_mem_get(made.ctx, BYTES, "the bandwidth of rows", &made.memory) != TAKT_OK)
            return p;
        memset(made.memory, 0, BYTES);
    }
    *p = made;
    return p;
}

/* Measures the peaks again; the larger ones stay. */
PEERS_API void peers_raise(int all_threads)
{
    static const char *const families[] = {"peak_f32", "peak_f64", "peak_i8", "peak_f16",
                                           "peak_bf16"};
    takt_ceiling *c = all_threads ? &ceilings.all : &ceilings.one;
    double *const peaks[] = {&c->f32_gflops, &c->f64_gflops, &c->int8_gops, &c->f16_gflops,
                             &c->bf16_gflops};
    const takt_probe *p = load(all_threads);
    for (size_t i = 0; p->threads > 0 && i < sizeof peaks / sizeof *peaks; i++) {
        const takt_kernel *k = takt_kernel_find(families[i], takt_isa_detect(), NULL, 0, NULL);
        if (*peaks[i] > 0 && k != NULL) /* 0: not used on this machine, as in portable code */
            *peaks[i] = fmax(*peaks[i], takt_probe_peak(p, families[i], k));
    }
}

/* 10^9 bytes a second if every thread has `bytes`; kind 0: read, 1: read and written, 2: two read
 * and one written; 0 if out of memory. */
PEERS_API double peers_bandwidth(double bytes, int kind, int all_threads)
{
    const takt_probe *p = load(all_threads);
    if (p->threads == 0)
        return 0;
    return kind == 0   ? takt_probe_read(p, (size_t)bytes)
           : kind == 1 ? takt_probe_copy(p, (size_t)bytes)
                       : takt_probe_add(p, (size_t)bytes);
}

/* ---- cost of waking all threads, in any engine ---- */

enum { CALLS = 100, CALL_BLOCKS = 50, LAST_CALL = -1 };
static const double call_seconds = 0.05; /* where threads wait for one processor calls are long */

/* One word that all threads poll, and one per thread that the first polls. */
typedef struct calling {
    _Alignas(64) _Atomic int call;
    struct {
        _Alignas(64) _Atomic int heard;
    } thread[TAKT_POOL_MAX];
    int threads;
    double best; /* seconds of a call */
} calling;

static void call_all(calling *c, int number)
{
    atomic_store_explicit(&c->call, number, memory_order_release);
    for (int i = 1; i < c->threads; i++)
        while (atomic_load_explicit(&c->thread[i].heard, memory_order_acquire) != number)
            continue;
}

/* The first calls, the others answer. */
static void call_or_answer(void *user, size_t task, int thread)
{
    calling *c = user;
    takt_ctx *ctx = peers_context();
    (void)thread;
    for (int seen = 0; task != 0 && seen != LAST_CALL;) {
        const int number = atomic_load_explicit(&c->call, memory_order_acquire);
        if (number != seen)
            atomic_store_explicit(&c->thread[task].heard, seen = number, memory_order_release);
    }
    if (task != 0)
        return;
    const uint64_t begun = ctx->now_ns(ctx->clock_user);
    for (int i = 0, number = 0; i < CALL_BLOCKS && seconds_since(ctx, begun) < call_seconds; i++) {
        const uint64_t start = ctx->now_ns(ctx->clock_user);
        for (int k = 0; k < CALLS; k++)
            call_all(c, ++number);
        c->best = fmin(c->best, seconds_since(ctx, start) / CALLS);
    }
    call_all(c, LAST_CALL);
}

/* Microseconds to start an empty job on all threads and to learn that they are done: a word is
 * written for all, and one comes back from each. 0 with one thread. */
PEERS_API double peers_call_us(void)
{
    static calling c;
    const takt_probe *p = load(1);
    if (p->threads < 2 || takt_pool_threads(p->pool) < p->threads || !takt_pool_try_lease(p->pool))
        return 0;
    c = (calling){.threads = p->threads, .best = INFINITY};
    takt_pool_run(p->pool, call_or_answer, &c, (size_t)p->threads);
    takt_pool_release(p->pool);
    return c.best * 1e6;
}

/* ---- how fast the calling thread is where it is now ---- */

/* 10^9 f32 operations a second, the best of some slices of about 20 us: in the first one wide units
 * may still be powered down, and an interrupt slows only one slice. */
static double pace(takt_ctx *ctx)
{
    enum { ROUNDS = 5461, SLICES = 5 };
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

/* 10^9 bytes a second read from L2, the best of some passes of about 10 us; the first of them loads
 * the data. In one large page, since the cost of small ones depends on what ran before. */
static double reach(takt_ctx *ctx)
{
    enum { PAGE = 2 << 20, BYTES = 192 << 10, SLICES = 4, WALKS = 4 };
    static float *memory;
    if (memory == NULL) {
        memory = aligned_alloc(PAGE, PAGE);
        if (memory == NULL)
            return 0;
        madvise(memory, PAGE, MADV_HUGEPAGE);
        memset(memory, 0, PAGE);
    }
    const takt_kernel *k = takt_kernel_find("stream", takt_isa_detect(), NULL, 0, NULL);
    takt_stream walk = {.kind = TAKT_STREAM_READ, .streams = 4, .a = memory, .b = memory};
    walk.count = BYTES / sizeof(float);
    double best = 0, sum = 0;
    for (int i = 0; i < SLICES; i++) {
        const uint64_t start = ctx->now_ns(ctx->clock_user);
        for (int w = 0; w < WALKS; w++)
            sum += takt_kernel_as_stream(k)(&walk);
        best = fmax(best, WALKS * (double)BYTES / seconds_since(ctx, start) * 1e-9);
    }
    return sum == 0 ? best : 0;
}

/* What the calling thread reaches where it runs now, in f32 operations and bytes read from L2, 10^9
 * a second; takes about 0.2 ms. A program on the core's other hardware thread lowers both. */
PEERS_API int peers_probe(double out[2])
{
    takt_ctx *ctx = peers_context();
    if (ctx == NULL)
        return 1;
    out[0] = pace(ctx);
    out[1] = reach(ctx);
    return 0;
}
