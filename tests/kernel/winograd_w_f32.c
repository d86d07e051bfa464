/* winograd_w_f32.c - holds the transform of weights to the scalar one. */
#include "kernel/winograd_w_f32/winograd_w_f32.h"

#include <string.h>

#include "check.h"
#include "kernel/winograd_f32/winograd_f32.h"

enum { TAPS, TO, WANT };
enum { SIDE = TAKT_WINOGRAD_W_SIDE, EACH = TAKT_WINOGRAD_W_TAPS * SIDE };
enum { LAST = TAKT_WINOGRAD_POINTS - 1 };

check_fn check_winograd_w_f32;

/* Groups one after the other at each point, or points one after the other of each group. */
static void transform(takt_check *c, const takt_kernel *reference, size_t groups, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    takt_winograd_w_f32 w = {.groups = groups};
    if (round & 1) {
        w.group_stride = SIDE;
        w.point_stride = groups * SIDE + check_below(c, 3);
    } else {
        w.point_stride = SIDE + check_below(c, 3);
        w.group_stride = (LAST + 1) * w.point_stride;
    }
    const size_t in = groups * EACH;
    const size_t out = (groups - 1) * w.group_stride + LAST * w.point_stride + SIDE;
    check_case(c, "groups=%zu values %d round %d", groups, values, round);
    float *taps = check_place(c, TAPS, in * sizeof *taps, where);
    check_fill_f32(c, taps, in, values);
    w.taps = taps;
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    memset(want, 0x5a, out * sizeof *want);
    w.points = want;
    takt_kernel_as_winograd_w_f32(reference)(&w);
    w.points = check_place(c, TO, out * sizeof *want, where);
    memset(w.points, 0x5a, out * sizeof *want);
    CHECK_CALL(c, takt_kernel_as_winograd_w_f32(c->kernel)(&w));
    check_same_f32(c, w.points, want, out);
    check_intact(c, TAPS);
    check_intact(c, TO);
}

static void bench(takt_check *c)
{
    enum { GROUPS = 4, BYTES = GROUPS * (EACH + (LAST + 1) * SIDE) * 4 };
    takt_winograd_w_f32 w = {.groups = GROUPS, .group_stride = SIDE, .point_stride = GROUPS * SIDE};
    float *taps = check_place(c, TAPS, GROUPS * EACH * sizeof *taps, CHECK_AT_START);
    check_fill_f32(c, taps, GROUPS * EACH, CHECK_PLAIN);
    w.taps = taps;
    w.points = check_place(c, TO, (LAST + 1) * w.point_stride * sizeof *taps, CHECK_AT_START);
    CHECK_BENCH(c, "16 kernels", BYTES, 0, takt_kernel_as_winograd_w_f32(c->kernel)(&w));
}

void check_winograd_w_f32(takt_check *c, const takt_kernel *reference)
{
    for (int round = 0; round < 64; round++)
        for (size_t n = 1; n <= 5; n++)
            transform(c, reference, n, round);
    bench(c);
}
