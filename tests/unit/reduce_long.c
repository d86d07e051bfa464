/* reduce_long.c - a row in parts has the bits of the row at once. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/reduce_long.h"
#include "kernel/isa.h"

enum { MOST = 5 * TAKT_REDUCE_CHUNK + 3, ROWS = 3, CHUNKS = 6 };

static float x[ROWS * MOST];

static void fill(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = 0.999f + (float)(state >> 8) * 0x1p-24F * 0.002f;
    }
}

/* Cut at every chunk, in an order that no thread would choose. */
static void check(takt_reduce_fn *run, takt_reduce_op op, size_t n)
{
    const takt_reduce_long l = {.run = run, .op = op, .dtype = TAKT_F32, .rows = ROWS, .n = n};
    const size_t chunks = ROWS * takt_reduce_long_chunks(&l);
    float parts[ROWS * CHUNKS], joined[ROWS], whole[ROWS];
    for (size_t i = chunks; i-- > 0;)
        takt_reduce_long_parts(&l, x, i, i + 1, parts);
    takt_reduce_long_join(&l, parts, joined);
    const takt_reduce r = {
        .op = op, .dst = whole, .src = x, .count = ROWS, .across = n, .n = n, .run = n, .step = 1};
    run(&r);
    EXPECT(memcmp(joined, whole, sizeof whole) == 0, "op %d, n %zu: %a, not %a", (int)op, n,
           (double)joined[0], (double)whole[0]);
    takt_reduce_long_parts(&l, x, 0, chunks, parts);
    takt_reduce_long_join(&l, parts, joined);
    EXPECT(memcmp(joined, whole, sizeof whole) == 0, "op %d, n %zu, all at once", (int)op, n);
}

static void parts(void)
{
    static const size_t sizes[] = {1, 15, 4095, 4096, 4097, 8192, 8193, 9000, 4 * 4096 + 100, MOST};
    static const takt_reduce_op ops[] = {TAKT_REDUCE_SUM, TAKT_REDUCE_SUMSQ, TAKT_REDUCE_PROD,
                                         TAKT_REDUCE_MAX, TAKT_REDUCE_MIN};
    takt_reduce_fn *run =
        (takt_reduce_fn *)takt_kernel_find("reduce_f32", takt_isa_detect(), NULL, 0, NULL)->run;
    fill();
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            x[7] = i % 2 == 0 ? 1 : -INFINITY;
            check(run, ops[o], sizes[i]);
        }
}

TEST_MAIN(parts)
