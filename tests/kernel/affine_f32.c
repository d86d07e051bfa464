/* affine_f32.c - checks quantising, dequantising and tables against the scalar ones: tails, ties,
 * NaN. */
#include "kernel/affine_f32/affine_f32.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { X, Y, TABLE, WANT };

check_fn check_affine_f32;

static float scale_of(takt_check *c)
{
    static const float odd[] = {0, 1, -0.5F, 1e-45F, 1e-38F, 3e38F, INFINITY, NAN};
    const size_t which = check_below(c, 24);
    return which < sizeof odd / sizeof *odd ? odd[which] : (float)(1 + check_below(c, 1000)) / 3e4F;
}

/* Quotients at, and one unit off, where rounding turns. */
static void fill_ties(takt_check *c, float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = ((float)check_below(c, 600) - 299.5F) * scale;
        const size_t side = check_below(c, 3);
        x[i] = side == 0 ? x[i] : nextafterf(x[i], side == 1 ? -INFINITY : INFINITY);
    }
}

static void one(takt_check *c, const takt_kernel *reference, takt_affine_f32 a, int round)
{
    const int where = round % CHECK_PLACES, values = (int)check_below(c, CHECK_VALUES + 3);
    const bool is_down = a.kind == TAKT_AFFINE_QUANTISE || a.kind == TAKT_AFFINE_AWAY;
    const size_t in = a.n * (is_down ? sizeof(float) : 1);
    const size_t out = a.n * (a.kind == TAKT_AFFINE_DEQUANTISE ? sizeof(float) : 1);
    a.scale = scale_of(c);
    a.zero = (int32_t)check_below(c, 256) - (a.is_unsigned ? 0 : 128);
    a.is_product = round % 3 == 0;
    a.lo = a.is_unsigned ? round % 5 : round % 5 - 128;
    a.hi = a.lo + 255 - round % 7 - round % 5;
    check_case(c, "kind %d n=%zu scale %g zero %d place %d", (int)a.kind, a.n, (double)a.scale,
               (int)a.zero, where);
    void *x = check_place(c, X, in, where);
    uint8_t *table = check_place(c, TABLE, 256, where);
    check_fill_bytes(c, table, 256);
    if (!is_down)
        check_fill_bytes(c, x, in);
    else if (values < CHECK_VALUES)
        check_fill_f32(c, x, a.n, values);
    else
        fill_ties(c, x, a.n, a.scale);
    a.x = x;
    a.table = table;
    void *want = a.y = check_place(c, WANT, out, CHECK_AT_END);
    takt_kernel_as_affine_f32(reference)(&a);
    a.y = check_place(c, Y, out, where);
    memset(a.y, 0x5a, out);
    CHECK_CALL(c, takt_kernel_as_affine_f32(c->kernel)(&a));
    if (a.kind == TAKT_AFFINE_DEQUANTISE)
        check_same_f32(c, a.y, want, a.n);
    else
        check_same_bytes(c, a.y, want, out);
    for (int slot = X; slot <= TABLE; slot++)
        check_intact(c, slot);
}

static void bench(takt_check *c, takt_affine_kind kind, const char *what)
{
    enum { N = 150528 };
    takt_affine_f32 a = {.kind = kind, .is_unsigned = true, .n = N, .scale = 0.0187F, .zero = 114};
    a.x = check_place(c, X, N * sizeof(float), CHECK_AT_START);
    a.y = check_place(c, Y, N * sizeof(float), CHECK_AT_START);
    uint8_t *table = check_place(c, TABLE, 256, CHECK_AT_START);
    check_fill_bytes(c, table, 256);
    check_fill_f32(c, check_place(c, X, N * sizeof(float), CHECK_AT_START), N, CHECK_PLAIN);
    a.table = table;
    CHECK_BENCH(c, what, kind == TAKT_AFFINE_LOOK_UP ? 2.0 * N : 5.0 * N, 0,
                takt_kernel_as_affine_f32(c->kernel)(&a));
}

void check_affine_f32(takt_check *c, const takt_kernel *reference)
{
    int round = 0;
    for (size_t n = 0; n <= CHECK_TAILS; n++)
        for (int kind = 0; kind < 4; kind++)
            for (int i = 0; i < 6; i++, round++) {
                const takt_affine_f32 a = {
                    .kind = (takt_affine_kind)kind, .is_unsigned = i % 2, .n = n};
                one(c, reference, a, round);
            }
    for (int i = 0; i < 80; i++, round++) {
        const takt_affine_kind kind = i % 4 < 2 ? TAKT_AFFINE_QUANTISE : TAKT_AFFINE_AWAY;
        one(c, reference, (takt_affine_f32){.kind = kind, .is_unsigned = i % 2, .n = 5000}, round);
    }
    bench(c, TAKT_AFFINE_QUANTISE, "quantise");
    bench(c, TAKT_AFFINE_AWAY, "away");
    bench(c, TAKT_AFFINE_DEQUANTISE, "dequantise");
    bench(c, TAKT_AFFINE_LOOK_UP, "look up");
}
