/* winograd_dy_f32.c - checks the transform of dy against the scalar one. */
#include "kernel/winograd_dy_f32/winograd_dy_f32.h"

#include <string.h>

#include "check.h"
#include "kernel/winograd_f32/winograd_f32.h"

enum { DY, POINTS, WANT, OUT = TAKT_WINOGRAD_OUT };

check_fn check_winograd_dy_f32;

static size_t span(const takt_winograd_dy_f32 *w)
{
    return (OUT - 1) * (w->row + w->column) + w->channels;
}

static void transform(takt_check *c, const takt_kernel *reference, size_t channels, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    takt_winograd_dy_f32 w = {.channels = channels,
                              .column = channels + check_below(c, 3),
                              .point_stride = channels + check_below(c, 5)};
    w.row = 5 * w.column;
    const size_t in = span(&w), out = 35 * w.point_stride + channels;
    check_case(c, "channels=%zu values %d round %d", channels, values, round);
    float *dy = check_place(c, DY, in * sizeof *dy, where);
    check_fill_f32(c, dy, in, values);
    const float *taps[OUT * OUT];
    for (size_t i = 0; i < OUT * OUT; i++)
        taps[i] = dy + check_below(c, in - channels + 1);
    w.dy = dy;
    w.taps = round & 1 ? taps : NULL;
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    memset(want, 0x5a, out * sizeof *want);
    w.points = want;
    takt_kernel_as_winograd_dy_f32(reference)(&w);
    w.points = check_place(c, POINTS, out * sizeof *want, where);
    memset(w.points, 0x5a, out * sizeof *want);
    CHECK_CALL(c, takt_kernel_as_winograd_dy_f32(c->kernel)(&w));
    check_same_f32(c, w.points, want, out);
    check_intact(c, DY);
    check_intact(c, POINTS);
}

static void bench(takt_check *c)
{
    enum { N = 64 };
    takt_winograd_dy_f32 w = {.channels = N, .column = N, .row = 56 * N, .point_stride = 24 * N};
    float *dy = check_place(c, DY, span(&w) * sizeof *dy, CHECK_AT_START);
    check_fill_f32(c, dy, span(&w), CHECK_PLAIN);
    w.dy = dy;
    w.points = check_place(c, POINTS, 36 * w.point_stride * sizeof *dy, CHECK_AT_START);
    CHECK_BENCH(c, "64", 52 * 4 * N, 0, takt_kernel_as_winograd_dy_f32(c->kernel)(&w));
}

void check_winograd_dy_f32(takt_check *c, const takt_kernel *reference)
{
    for (int round = 0; round < 8; round++)
        for (size_t n = 1; n <= 70; n++)
            transform(c, reference, n, round);
    bench(c);
}
