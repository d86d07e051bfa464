/* winograd_f32.c - checks Winograd's transforms against the scalar ones. */
#include "kernel/winograd_f32/winograd_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { X, POINTS, Y, BIAS, RESIDUAL, WANT, IN = TAKT_WINOGRAD_IN, OUT = TAKT_WINOGRAD_OUT };

check_fn check_winograd_f32;

static size_t span(size_t rows, size_t cols, const takt_winograd_f32 *w)
{
    return (rows - 1) * w->row + (cols - 1) * w->column + w->channels;
}

/* `out` floats of points that both write. */
static void compare_points(takt_check *c, const takt_kernel *reference, takt_winograd_f32 w,
                           size_t out, int where)
{
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    memset(want, 0x5a, out * sizeof *want);
    w.points = want;
    takt_kernel_as_winograd_f32(reference)(&w);
    w.points = check_place(c, POINTS, out * sizeof *want, where);
    memset(w.points, 0x5a, out * sizeof *want);
    CHECK_CALL(c, takt_kernel_as_winograd_f32(c->kernel)(&w));
    check_same_f32(c, w.points, want, out);
    check_intact(c, X);
    check_intact(c, POINTS);
}

static void input(takt_check *c, const takt_kernel *reference, size_t channels, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    takt_winograd_f32 w = {.channels = channels,
                           .column = channels + check_below(c, 3),
                           .point_stride = channels + check_below(c, 5)};
    w.row = 7 * w.column;
    const size_t in = span(IN, IN, &w), out = 35 * w.point_stride + channels;
    check_case(c, "input, channels=%zu values %d round %d", channels, values, round);
    float *x = check_place(c, X, in * sizeof *x, where);
    check_fill_f32(c, x, in, values);
    const float *taps[IN * IN];
    for (size_t i = 0; i < IN * IN; i++)
        taps[i] = x + check_below(c, in - channels + 1);
    w.x = x;
    w.taps = round & 1 ? taps : NULL;
    compare_points(c, reference, w, out, where);
}

static void output(takt_check *c, const takt_kernel *reference, size_t channels, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    takt_winograd_f32 w = {.step = TAKT_WINOGRAD_OUTPUT,
                           .channels = channels,
                           .column = channels + check_below(c, 3),
                           .point_stride = channels + check_below(c, 5),
                           .rows = 1 + check_below(c, OUT),
                           .cols = 1 + check_below(c, OUT)};
    w.row = 5 * w.column;
    const size_t in = 35 * w.point_stride + channels, out = span(w.rows, w.cols, &w);
    check_case(c, "output, channels=%zu %zux%zu values %d round %d", channels, w.rows, w.cols,
               values, round);
    w.points = check_place(c, POINTS, in * sizeof *w.points, where);
    float *bias = check_place(c, BIAS, channels * sizeof *bias, where);
    float *residual = check_place(c, RESIDUAL, out * sizeof *residual, where);
    check_fill_f32(c, w.points, in, values);
    check_fill_f32(c, bias, channels, values);
    check_fill_f32(c, residual, out, values);
    w.bias = round & 1 ? bias : NULL;
    w.residual = round & 2 ? residual : NULL;
    w.relu = (round & 4) != 0;
    w.limit = round & 8 ? 1.5f : INFINITY;
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    memset(want, 0x5a, out * sizeof *want);
    w.y = want;
    takt_kernel_as_winograd_f32(reference)(&w);
    w.y = check_place(c, Y, out * sizeof *want, where);
    memset(w.y, 0x5a, out * sizeof *want);
    CHECK_CALL(c, takt_kernel_as_winograd_f32(c->kernel)(&w));
    check_same_f32(c, w.y, want, out);
    for (int slot = POINTS; slot <= RESIDUAL; slot++)
        check_intact(c, slot);
}

static void weights(takt_check *c, const takt_kernel *reference, size_t kernels, int round)
{
    enum { TAPS = 9, LAST = TAKT_WINOGRAD_POINTS - 1 };
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    takt_winograd_f32 w = {.step = TAKT_WINOGRAD_WEIGHTS,
                           .channels = kernels,
                           .point_stride = kernels + check_below(c, 5)};
    const size_t apart = kernels + check_below(c, 3), in = (TAPS - 1) * apart + kernels;
    const size_t out = LAST * w.point_stride + kernels;
    check_case(c, "weights, kernels=%zu values %d round %d", kernels, values, round);
    float *x = check_place(c, X, in * sizeof *x, where);
    check_fill_f32(c, x, in, values);
    const float *taps[TAPS];
    for (size_t i = 0; i < TAPS; i++)
        taps[i] = x + i * apart;
    w.taps = taps;
    compare_points(c, reference, w, out, where);
}

static void bench(takt_check *c)
{
    enum { N = 64 };
    takt_winograd_f32 w = {.channels = N,
                           .column = N,
                           .row = 56 * N,
                           .point_stride = 24 * N,
                           .rows = OUT,
                           .cols = OUT};
    float *x = check_place(c, X, span(IN, IN, &w) * sizeof *x, CHECK_AT_START);
    check_fill_f32(c, x, span(IN, IN, &w), CHECK_PLAIN);
    w.x = x;
    w.points = check_place(c, POINTS, 36 * w.point_stride * sizeof *x, CHECK_AT_START);
    check_fill_f32(c, w.points, 36 * w.point_stride, CHECK_PLAIN);
    w.y = check_place(c, Y, span(OUT, OUT, &w) * sizeof *x, CHECK_AT_START);
    CHECK_BENCH(c, "input 64", 72 * 4 * N, 0, takt_kernel_as_winograd_f32(c->kernel)(&w));
    w.step = TAKT_WINOGRAD_OUTPUT;
    CHECK_BENCH(c, "output 64", 52 * 4 * N, 0, takt_kernel_as_winograd_f32(c->kernel)(&w));
}

void check_winograd_f32(takt_check *c, const takt_kernel *reference)
{
    for (int round = 0; round < 16; round++)
        for (size_t n = 1; n <= 70; n++) {
            input(c, reference, n, round);
            output(c, reference, n, round);
            weights(c, reference, 15 + n, round);
        }
    bench(c);
}
