/* sweep_levels.c - element-wise operations and reductions against the bandwidth of the level of
 * memory that their data lives in, from L1 to DRAM. */
#define _GNU_SOURCE
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <takt/measure.h>

#include "check.h"
#include "kernel/isa.h"
#include "kernel/map/map.h"
#include "kernel/reduce/reduce.h"

/* Powers of two; each array begins SKEW floats later, since arrays a multiple of a page apart
 * conflict. */
enum { LEAST = 10, MOST = 24, ARRAYS = 3, LARGE_PAGE = 2 << 20, SKEW = 336 };

typedef struct operation {
    const char *name;
    int map, reduce; /* one of them, else -1 */
    int arrays;
    float result; /* of a = 2 and b = 3, per element of a sum */
} operation;

static const operation operations[] = {
    {"copy", TAKT_MAP_COPY, -1, 2, 2},  {"relu", TAKT_MAP_RELU, -1, 2, 2},
    {"add", TAKT_MAP_ADD, -1, 3, 5},    {"mul", TAKT_MAP_MUL, -1, 3, 6},
    {"sum", -1, TAKT_REDUCE_SUM, 1, 2}, {"max", -1, TAKT_REDUCE_MAX, 1, 2},
};

typedef struct bench {
    const takt_kernel *map, *reduce;
    float *memory[ARRAYS], *x[ARRAYS]; /* dst, a, b */
    takt_ceilings ceilings;
} bench;

static void apply(const bench *b, const operation *o, size_t n)
{
    const void *src[] = {b->x[1], b->x[2]};
    const unsigned char none[] = {0, 0};
    if (o->map >= 0)
        takt_map_find(b->map, (takt_map_op)o->map)(b->x[0], src, none, n, NULL);
    else
        takt_kernel_as_reduce_f32(b->reduce)(&(takt_reduce){.op = (takt_reduce_op)o->reduce,
                                                            .dst = b->x[0],
                                                            .src = b->x[1],
                                                            .count = 1,
                                                            .across = n,
                                                            .n = n,
                                                            .run = n,
                                                            .step = 1});
}

/* Seconds, the best of several rounds of 2 ms. */
static double seconds(const bench *b, const operation *o, size_t n)
{
    double best = INFINITY;
    for (int round = 0; round < 7; round++) {
        const double from = check_now();
        double spent = 0;
        long calls = 0;
        for (; spent < 2e-3; calls++, spent = check_now() - from)
            for (size_t i = 0; i < (1 << 14) / n + 1; i++) /* reading the clock takes as long as
                                                            * 2^10 elements */
                apply(b, o, n);
        best = fmin(best, spent / (double)calls / (double)((1 << 14) / n + 1));
    }
    return best;
}

static int level_of(const takt_ceilings *c, double bytes)
{
    int level = 0;
    while (level < TAKT_LEVELS - 1 && bytes > (double)c->cache_bytes[level])
        level++;
    return level;
}

/* One line; returns whether the result is correct. */
static bool one(const bench *b, const operation *o, size_t n)
{
    static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
    const double bytes = 4.0 * (double)n * o->arrays, time = seconds(b, o, n);
    const int level = level_of(&b->ceilings, bytes);
    const double read = b->ceilings.one.read_gbs[level], copy = b->ceilings.one.copy_gbs[level];
    const double most = o->map >= 0 && copy > read ? copy : read, gbs = bytes / time * 1e-9;
    const float want = o->reduce == TAKT_REDUCE_SUM ? o->result * (float)n : o->result;
    const bool is_right = b->x[0][0] == want && (o->map < 0 || b->x[0][n - 1] == want);
    printf("  %-5s %9zu floats %10.2f us %8.2f GB/s %6.1f %% of %.1f GB/s, %s%s\n", o->name, n,
           time * 1e6, gbs, most > 0 ? 100 * gbs / most : 0, most, levels[level],
           is_right ? "" : "  WRONG");
    return is_right;
}

static bool open_bench(bench *b)
{
    const takt_isa_set here = takt_isa_detect();
    takt_ctx *ctx;
    b->map = takt_kernel_find("map_f32", here, NULL, 0, NULL);
    b->reduce = takt_kernel_find("reduce_f32", here, NULL, 0, NULL);
    bool is_open = b->map && b->reduce && takt_ctx_create(NULL, &ctx) == TAKT_OK;
    if (is_open) {
        is_open = takt_ceilings_get(ctx, NULL, false, &b->ceilings) == TAKT_OK;
        takt_ctx_destroy(ctx);
    }
    for (int i = 0; i < ARRAYS; i++) {
        const size_t bytes = (sizeof(float) << MOST) + LARGE_PAGE;
        float *p = b->memory[i] = aligned_alloc(LARGE_PAGE, bytes);
        is_open = is_open && p;
        if (p)
            madvise(p, bytes, MADV_HUGEPAGE); /* in memory as plans have it; or not */
        for (size_t j = 0; p && j < bytes / sizeof(float); j++)
            p[j] = (float)(i + 1);
        b->x[i] = p + i * SKEW;
    }
    return is_open;
}

int check_sweep_levels(const char *family, bool once)
{
    bench b = {0};
    int failed = !open_bench(&b);
    for (size_t i = 0; !failed && i < sizeof operations / sizeof *operations; i++) {
        const bool is_map = operations[i].map >= 0;
        if (family && strcmp(family, is_map ? "map_f32" : "reduce_f32") != 0)
            continue;
        for (int power = LEAST; power <= (once ? LEAST : MOST); power += 2)
            failed += !one(&b, &operations[i], (size_t)1 << power);
    }
    for (int i = 0; i < ARRAYS; i++)
        free(b.memory[i]);
    return failed;
}
