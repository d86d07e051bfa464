/* overhead.c - what a step costs in addition to its kernel, and how soon a worker begins.
 *
 *     bench/overhead/run [--strict]
 *
 * A plan of 100 small steps, a plan of one, and the bare kernel in a loop alternate; the cost of a
 * step is (100 steps - 1 step) / 99 - kernel. With --strict a figure beyond its limit fails.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <takt/takt.h>
#include <time.h>

#include "kernel/rows/rows.h"
#include "os/cpu.h"
#include "os/pool.h"

enum { WIDTH = 16, STEPS = 100, BLOCKS = 40, RUNS = 200, WAKES = 4000 };
static const double STEP_LIMIT = 60, WAKE_LIMIT = 1000; /* ns */
/* Idle time between two jobs: shorter than a worker spins, and much longer. */
static const double SHORT_GAP = 5e3, LONG_GAP = 1e6;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Processor time of this thread alone, without other threads' work. */
static double spent(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(takt_ctx *ctx, takt_status status)
{
    if (status != TAKT_OK) {
        fprintf(stderr, "overhead: %s\n", takt_last_error(ctx));
        exit(1);
    }
}

static takt_stats stats_of(takt_ctx *ctx, const double *values, size_t count)
{
    takt_stats s;
    must(ctx, takt_stats_compute(ctx, values, count, &s));
    return s;
}

/* ---- steps ---- */

/* A chain of softmax operations: each is a separate step, and none can be removed. */
static takt_session *chain(takt_ctx *ctx, int steps)
{
    static char text[32 * STEPS + 128];
    int at = snprintf(text, sizeof text, "model m(x: f32[1, %d]) -> f32[1, %d] {\n", WIDTH, WIDTH);
    for (int i = 0; i < steps; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "  x = softmax(x)\n");
    snprintf(text + at, sizeof text - (size_t)at, "  return x\n}\n");
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
    const takt_plan_options options = {.threads = 1};
    must(ctx, takt_model_load_memory(ctx, "chain", text, strlen(text), NULL, &model));
    must(ctx, takt_plan_create(model, &options, &plan));
    must(ctx, takt_session_create(plan, NULL, &session));
    takt_plan_info info;
    takt_plan_query(plan, &info);
    if (info.steps != (size_t)steps) {
        fprintf(stderr, "overhead: the plan has %zu steps, not %d\n", info.steps, steps);
        exit(1);
    }
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    memset(takt_session_input(session, 0)->data, 0, WIDTH * sizeof(float));
    return session;
}

static double time_session(takt_ctx *ctx, takt_session *session)
{
    must(ctx, takt_session_run(session));
    const double start = spent();
    for (int i = 0; i < RUNS; i++)
        must(ctx, takt_session_run(session));
    return (spent() - start) / RUNS;
}

static double time_kernel(takt_rows_fn *run)
{
    _Alignas(64) static float row[WIDTH];
    const takt_rows_step step = {.op = TAKT_ROWS_SOFTMAX,
                                 .src = row,
                                 .dst = row,
                                 .rows = 1,
                                 .n = WIDTH,
                                 .src_stride = WIDTH,
                                 .dst_stride = WIDTH};
    const double start = spent();
    for (int i = 0; i < RUNS * STEPS; i++)
        run(&step);
    return (spent() - start) / (RUNS * STEPS);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The minimum over many blocks: other load can only add time. */
static int steps(takt_ctx *ctx)
{
    takt_session *many = chain(ctx, STEPS), *one = chain(ctx, 1);
    takt_rows_fn *kernel =
        (takt_rows_fn *)takt_kernel_find("rows_f32", takt_isa_detect(), NULL, 0, NULL)->run;
    double a = 1e18, b = 1e18, c = 1e18;
    for (int i = 0; i < BLOCKS; i++) {
        a = least(a, time_session(ctx, many));
        b = least(b, time_session(ctx, one));
        c = least(c, time_kernel(kernel));
    }
    const double cost = (a - b) / (STEPS - 1) - c;
    printf("a step without its kernel:  %6.1f ns, kernel %.1f ns; limit %.0f ns: %s\n", cost, c,
           STEP_LIMIT, cost <= STEP_LIMIT ? "held" : "MISSED");
    takt_session_destroy(many);
    takt_session_destroy(one);
    return cost > STEP_LIMIT;
}

/* ---- waking ---- */

typedef struct wake {
    _Atomic double begun; /* when a worker began; 0: not yet */
} wake;

/* The caller waits for the worker so that both do work, but not forever. */
static void meet(void *user, size_t task, int thread)
{
    (void)task;
    wake *w = user;
    if (thread != 0) {
        atomic_store(&w->begun, now());
        return;
    }
    const double start = now();
    while (atomic_load(&w->begun) == 0 && now() - start < 1e6) {
    }
}

static size_t wakes(takt_pool *pool, double gap, size_t tries, double *took)
{
    size_t count = 0;
    for (size_t i = 0; i < tries; i++) {
        const double idle = now();
        while (now() - idle < gap) {
        }
        wake w = {0};
        const double start = now();
        takt_pool_run(pool, meet, &w, 2);
        if (atomic_load(&w.begun) != 0)
            took[count++] = atomic_load(&w.begun) - start;
    }
    return count;
}

static int waking(takt_ctx *ctx)
{
    static double took[WAKES];
    takt_pool *pool;
    must(ctx, takt_pool_create(ctx, 2, NULL, &pool));
    if (takt_pool_threads(pool) < 2 || takt_pool_default_threads() < 2 ||
        !takt_pool_try_lease(pool)) {
        printf("a worker's wake-up:        not measured: one processor\n");
        takt_pool_destroy(pool);
        return 0;
    }
    const takt_stats spinning = stats_of(ctx, took, wakes(pool, SHORT_GAP, WAKES, took));
    printf("a worker that looks out:   %6.0f ns (%.0f to %.0f), p99 %.0f ns; limit %.0f ns: %s\n",
           spinning.median, spinning.median_ci.low, spinning.median_ci.high,
           spinning.percentiles[3].value, WAKE_LIMIT,
           spinning.median <= WAKE_LIMIT ? "held" : "MISSED");
    const takt_stats asleep = stats_of(ctx, took, wakes(pool, LONG_GAP, 200, took));
    printf("a worker that is asleep:   %6.0f ns, p99 %.0f ns\n", asleep.median,
           asleep.percentiles[3].value);
    takt_pool_release(pool);
    takt_pool_destroy(pool);
    return spinning.median > WAKE_LIMIT;
}

int main(int argc, char **argv)
{
    takt_ctx *ctx;
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    const int missed = steps(ctx) + waking(ctx);
    takt_ctx_destroy(ctx);
    return argc > 1 && strcmp(argv[1], "--strict") == 0 && missed != 0;
}
