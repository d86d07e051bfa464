/* rotate_f32.c - checks rotations of pairs against those of the scalar kernel. */
#include "kernel/rotate_f32/rotate_f32.h"

#include <string.h>

#include "check.h"

enum { X, COS, SIN, RESULT, WANT };

check_fn check_rotate_f32;

static void one(takt_check *c, const takt_kernel *reference, takt_rotate_f32 g, int where,
                int values)
{
    const size_t count = g.rows > 0 ? (g.rows - 1) * g.x_row + g.n : 0, out = g.rows * g.n;
    check_case(c, "rows=%zu n=%zu half=%zu apart=%zu neighbours=%d place %d values %d", g.rows, g.n,
               g.half, g.x_row, g.neighbours, where, values);
    float *x = check_place(c, X, count * sizeof *x, where);
    float *cosine = check_place(c, COS, g.half * sizeof *cosine, where);
    float *sine = check_place(c, SIN, g.half * sizeof *sine, where);
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    float *got = check_place(c, RESULT, out * sizeof *got, where);
    check_fill_f32(c, x, count, values);
    check_fill_f32(c, cosine, g.half, CHECK_PLAIN);
    check_fill_f32(c, sine, g.half, CHECK_PLAIN);
    g.x = x;
    g.cos = cosine;
    g.sin = sine;
    g.y = want;
    takt_kernel_as_rotate_f32(reference)(&g);
    memset(got, 0x5a, out * sizeof *got);
    g.y = got;
    CHECK_CALL(c, takt_kernel_as_rotate_f32(c->kernel)(&g));
    check_same_f32(c, got, want, out);
    for (int slot = X; slot <= RESULT; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c)
{
    enum { HEADS = 64, SIZE = 64 };
    for (size_t i = 0; i < check_timed(c, 2, 1); i++) {
        takt_rotate_f32 g = {
            .rows = HEADS, .n = SIZE, .half = SIZE / 2, .x_row = SIZE, .neighbours = i == 1};
        float *x = check_place(c, X, sizeof(float) * HEADS * SIZE, CHECK_AT_START);
        float *angles = check_place(c, COS, sizeof(float) * SIZE, CHECK_AT_START);
        g.y = check_place(c, RESULT, sizeof(float) * HEADS * SIZE, CHECK_AT_START);
        check_fill_f32(c, x, HEADS * SIZE, CHECK_PLAIN);
        check_fill_f32(c, angles, SIZE, CHECK_PLAIN);
        g.x = x;
        g.cos = angles;
        g.sin = angles + SIZE / 2;
        CHECK_BENCH(c, i == 1 ? "64 heads of 64, neighbours" : "64 heads of 64, apart",
                    8.0 * HEADS * SIZE, 3.0 * HEADS * SIZE,
                    takt_kernel_as_rotate_f32(c->kernel)(&g));
    }
}

void check_rotate_f32(takt_check *c, const takt_kernel *reference)
{
    for (int paired = 0; paired < 2; paired++)
        for (size_t half = 0; half <= CHECK_TAILS / 2; half++)
            for (size_t rest = 0; rest < 4; rest += 3) {
                const size_t n = 2 * half + rest;
                const takt_rotate_f32 g = {.rows = 1 + half % 3,
                                           .n = n,
                                           .half = half,
                                           .x_row = n + half % 2 * 5,
                                           .neighbours = paired == 1};
                one(c, reference, g, (int)(half % CHECK_PLACES), (int)(half % CHECK_VALUES));
            }
    bench(c);
}
