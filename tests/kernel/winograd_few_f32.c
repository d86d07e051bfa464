/* winograd_few_f32.c - checks products by weights transformed in registers against the scalar ones.
 */
#include "kernel/winograd_few_f32/winograd_few_f32.h"

#include <string.h>

#include "check.h"

enum { W, V, M, SUMS, WANT, TAPS = 9, IN = 6, FEW = TAKT_WINOGRAD_FEW };

check_fn check_winograd_few_f32;

static void product(takt_check *c, const takt_kernel *reference, size_t columns, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    takt_winograd_few_f32 w = {.tiles = 1 + check_below(c, FEW),
                               .channels = 1 + check_below(c, 70),
                               .columns = columns,
                               .count = columns - check_below(c, 9),
                               .adds = (round & 1) != 0};
    w.tap = w.channels * columns + check_below(c, 3);
    w.v_row = w.channels * IN * FEW + check_below(c, 3);
    w.ld = w.count + check_below(c, 3);
    w.point = w.tiles * w.ld + check_below(c, 3);
    const size_t taps = (TAPS - 1) * w.tap + w.channels * columns;
    const size_t in = (IN - 1) * w.v_row + w.channels * IN * FEW;
    const size_t out = (IN * IN - 1) * w.point + (w.tiles - 1) * w.ld + w.count;
    check_case(c, "columns=%zu of %zu channels=%zu tiles=%zu values %d round %d", w.count, columns,
               w.channels, w.tiles, values, round);
    float *of_w = check_place(c, W, taps * sizeof *of_w, where);
    float *of_v = check_place(c, V, in * sizeof *of_v, where);
    check_fill_f32(c, of_w, taps, values);
    check_fill_f32(c, of_v, in, values);
    w.w = of_w;
    w.v = of_v;
    w.sums = check_place(c, SUMS, TAKT_WINOGRAD_FEW_SUMS * sizeof *of_v, where);
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    float *got = check_place(c, M, out * sizeof *want, where);
    check_fill_f32(c, want, out, values);
    memcpy(got, want, out * sizeof *want);
    w.m = want;
    takt_kernel_as_winograd_few_f32(reference)(&w);
    w.m = got;
    CHECK_CALL(c, takt_kernel_as_winograd_few_f32(c->kernel)(&w));
    check_same_f32(c, got, want, out);
    for (int slot = W; slot <= SUMS; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c)
{
    enum { K = 256, N = 32 };
    takt_winograd_few_f32 w = {.tiles = FEW,
                               .channels = K,
                               .columns = N,
                               .count = N,
                               .tap = K * N,
                               .v_row = K * IN * FEW,
                               .point = FEW * N,
                               .ld = N};
    float *of_w = check_place(c, W, TAPS * w.tap * sizeof *of_w, CHECK_AT_START);
    float *of_v = check_place(c, V, IN * w.v_row * sizeof *of_v, CHECK_AT_START);
    check_fill_f32(c, of_w, TAPS * w.tap, CHECK_PLAIN);
    check_fill_f32(c, of_v, IN * w.v_row, CHECK_PLAIN);
    w.w = of_w;
    w.v = of_v;
    w.sums = check_place(c, SUMS, TAKT_WINOGRAD_FEW_SUMS * sizeof *of_v, CHECK_AT_START);
    w.m = check_place(c, M, IN * IN * w.point * sizeof *w.m, CHECK_AT_START);
    CHECK_BENCH(c, "256 x 32", 4 * TAPS * K * N, 2.0 * IN * IN * FEW * K * N,
                takt_kernel_as_winograd_few_f32(c->kernel)(&w));
}

void check_winograd_few_f32(takt_check *c, const takt_kernel *reference)
{
    for (int round = 0; round < 64; round++)
        for (size_t n = 16; n <= 48; n += 16)
            product(c, reference, n, round);
    bench(c);
}
