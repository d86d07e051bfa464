/* pool_f32.c - checks pools against the scalar ones: geometry, borders, tails. */
#include "kernel/pool_f32/pool_f32.h"

#include <string.h>

#include "check.h"

enum { X, DIVISOR, Y, WANT, ROWS_MAX = 5 };

check_fn check_pool_f32;

static void one(takt_check *c, const takt_kernel *reference, takt_pool_f32 p, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    const size_t in = p.rows * p.width * p.channels, out = p.columns * p.channels;
    const float *rows[ROWS_MAX];
    check_case(
        c, "%s channels=%zu columns=%zu width=%zu taps=%zux%zu stride %zu dilation %zu before %zu",
        round & 1 ? "average" : "max", p.channels, p.columns, p.width, p.rows, p.taps, p.stride,
        p.dilation, p.before);
    float *x = check_place(c, X, in * sizeof *x, where);
    float *divisor = check_place(c, DIVISOR, p.columns * sizeof *divisor, where);
    check_fill_f32(c, x, in, values);
    for (size_t q = 0; q < p.columns; q++)
        divisor[q] = (float)check_below(c, 10);
    const bool is_whole = check_below(c, 2) == 0;
    for (size_t i = 0; i < p.rows; i++)
        rows[i] = !is_whole && check_below(c, 4) == 0 ? NULL : x + i * p.width * p.channels;
    p.x = rows;
    p.divisor = round & 1 ? divisor : NULL;
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    p.y = want;
    takt_kernel_as_pool_f32(reference)(&p);
    p.y = check_place(c, Y, out * sizeof *want, where);
    memset(p.y, 0x5a, out * sizeof *want);
    CHECK_CALL(c, takt_kernel_as_pool_f32(c->kernel)(&p));
    check_same_f32(c, p.y, want, out);
    for (int slot = X; slot <= Y; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c)
{
    takt_pool_f32 p = {.channels = 64,
                       .columns = 28,
                       .width = 56,
                       .rows = 2,
                       .taps = 2,
                       .stride = 2,
                       .dilation = 1};
    const size_t in = p.rows * p.width * p.channels;
    float *x = check_place(c, X, in * sizeof *x, CHECK_AT_START);
    check_fill_f32(c, x, in, CHECK_PLAIN);
    const float *rows[2] = {x, x + p.width * p.channels};
    p.x = rows;
    p.y = check_place(c, Y, p.columns * p.channels * sizeof *p.y, CHECK_AT_START);
    CHECK_BENCH(c, "max 2x2", 4.0 * (double)in, 0, takt_kernel_as_pool_f32(c->kernel)(&p));
}

void check_pool_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t taps[][2] = {{3, 3}, {1, 1}, {2, 2}, {1, 4}, {5, 3}, {5, 5}};
    int round = 0;
    for (size_t n = 1; n <= 70; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t stride = 1; stride <= 3; stride++, round++) {
                takt_pool_f32 p = {.channels = n,
                                   .columns = 1 + check_below(c, 9),
                                   .width = 1 + check_below(c, 15),
                                   .rows = taps[t][0],
                                   .taps = taps[t][1],
                                   .stride = stride,
                                   .dilation = 1 + (round % 5 == 4),
                                   .before = check_below(c, 4)};
                one(c, reference, p, round);
            }
    /* One channel, whose outputs fill lanes; and as many of them as a row has room for. */
    for (size_t width = 1; width <= 300; width += 1 + width / 40)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t stride = 1; stride <= 3; stride++, round++) {
                const size_t dilation = 1 + (round % 4 == 3), span = (taps[t][1] - 1) * dilation;
                takt_pool_f32 p = {.channels = 1,
                                   .columns = width > span ? (width - span - 1) / stride + 1 : 1,
                                   .width = width,
                                   .rows = taps[t][0],
                                   .taps = taps[t][1],
                                   .stride = stride,
                                   .dilation = dilation};
                one(c, reference, p, round);
            }
    bench(c);
}
