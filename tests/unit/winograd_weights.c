/* winograd_weights.c - packed weights of Winograd's form are those of its matrix, to the last bit:
 * in every order of the weights, panels of every width, and with the sign of zeros. Many pairs of
 * channels are transformed in f32, or stay taps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/conv/winograd.h"
#include "kernel/winograd_f32/winograd_f32.h"
#include "op/util/conv.h"
#include "test.h"

enum { IN = TAKT_WINOGRAD_IN, POINTS = TAKT_WINOGRAD_POINTS, TAPS = 9, SIDE = 3 };

/* G times three values, by definition. */
static void times_g(const double w[SIDE], double u[IN])
{
    const double b = w[1] / 6, ends = (w[0] + w[2]) / 6, wide = w[0] / 6 / 4 + w[2] / 6;
    u[0] = w[0] / 4;
    u[1] = -(ends + b);
    u[2] = b - ends;
    u[3] = wide + b / 2;
    u[4] = wide - b / 2;
    u[5] = w[2];
}

/* The same in f32. */
static void times_g_rounded(const float w[SIDE], float u[IN])
{
    const float b = w[1] * (1.0f / 6), ends = (w[0] + w[2]) * (-1.0f / 6);
    const float wide = fmaf(w[2], 1.0f / 6, w[0] * (1.0f / 24));
    u[0] = w[0] * 0.25f;
    u[1] = ends - b;
    u[2] = ends + b;
    u[3] = fmaf(w[1], 1.0f / 12, wide);
    u[4] = fmaf(-w[1], 1.0f / 12, wide);
    u[5] = w[2];
}

static void both_rounded(const float taps[TAPS], float points[POINTS])
{
    float half[IN][SIDE], u[IN];
    for (size_t j = 0; j < SIDE; j++) {
        times_g_rounded((const float[SIDE]){taps[j], taps[3 + j], taps[6 + j]}, u);
        for (size_t k = 0; k < IN; k++)
            half[k][j] = u[k];
    }
    for (size_t k = 0; k < IN; k++)
        times_g_rounded(half[k], points + IN * k);
}

static void both(const float taps[TAPS], float points[POINTS])
{
    double half[IN][SIDE], u[IN];
    for (size_t j = 0; j < SIDE; j++) {
        times_g((const double[SIDE]){(double)taps[j], (double)taps[3 + j], (double)taps[6 + j]}, u);
        for (size_t k = 0; k < IN; k++)
            half[k][j] = u[k];
    }
    for (size_t k = 0; k < IN; k++) {
        times_g(half[k], u);
        for (size_t p = 0; p < IN; p++)
            points[IN * k + p] = (float)u[p];
    }
}

static unsigned state = 1;

static unsigned next(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

/* Ordinary values, and values that a shortcut could get wrong. */
static float value(void)
{
    static const float odd[] = {0.0f,   -0.0f,   1.0f,   -1.0f,    3.4e38f, -3.4e38f,
                                1e-45f, -1e-45f, 1e-38f, INFINITY, 6.0f,    -6.0f};
    const unsigned kind = next() % 64, count = sizeof odd / sizeof *odd;
    if (kind < count)
        return odd[kind];
    return kind < 40 ? odd[next() % 4] : (float)next() / (float)(1 << 20) - 8;
}

static bool is_same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static void check(const takt_conv_shape *s, const takt_winograd_packing *how, const float *w,
                  const float *packed)
{
    const takt_panels panels = how->panels;
    const size_t each = takt_winograd_point_floats(s, panels);
    size_t different = 0;
    for (size_t c = 0; c < s->cin; c++)
        for (size_t o = 0; o < s->cout; o++) {
            float taps[TAPS], points[POINTS];
            for (size_t k = 0; k < TAPS; k++)
                taps[k] =
                    w[o * s->w_out + c * s->w_in + (s->is_flipped ? TAPS - 1 - k : k) * s->w_tap];
            if (how->keeps_taps)
                memcpy(points, taps, sizeof taps);
            else if (takt_conv_has_many_pairs(s->cin, s->cout))
                both_rounded(taps, points);
            else
                both(taps, points);
            for (size_t p = 0; p < takt_winograd_numbers(how); p++)
                different += !is_same(
                    points[p], packed[p * each + takt_packed_at(panels, s->cin, s->cout, c, o)]);
        }
    EXPECT(different == 0, "%zu x %zu, panels of %zu, inputs %zu apart: %zu differ", s->cin,
           s->cout, panels.wide, s->w_in, different);
}

static void try(size_t cin, size_t cout, size_t order, takt_panels panels, bool keeps_taps)
{
    const size_t step[][3] = {/* w_out, w_in, w_tap */
                              {TAPS * cin, 1, cin},
                              {TAPS * cin, TAPS, 1},
                              {1, cout, cin * cout}};
    const takt_conv_shape s = {.cin = cin,
                               .cout = cout,
                               .w_out = step[order][0],
                               .w_in = step[order][1],
                               .w_tap = step[order][2],
                               .is_flipped = next() % 2};
    const takt_isa_set isas = takt_isa_detect();
    const takt_winograd_packing how = {.panels = panels,
                                       .exact = takt_kernel_as_winograd_w_f32(
                                           takt_kernel_find("winograd_w_f32", isas, NULL, 0, NULL)),
                                       .rounded = takt_kernel_as_winograd_f32(
                                           takt_kernel_find("winograd_f32", isas, NULL, 0, NULL)),
                                       .keeps_taps = keeps_taps};
    const size_t count = takt_winograd_numbers(&how) * takt_winograd_point_floats(&s, panels);
    float *w = malloc(TAPS * cin * cout * sizeof *w), *packed = malloc(count * sizeof *packed);
    if (EXPECT(w != NULL && packed != NULL)) {
        for (size_t i = 0; i < TAPS * cin * cout; i++)
            w[i] = value();
        takt_winograd_pack(&s, &how, w, packed);
        check(&s, &how, w, packed);
        memset(packed, 0x55, count * sizeof *packed);
        for (size_t i = 0; i < 3; i++)
            takt_winograd_pack_part(&s, &how, w, packed, (const size_t[2]){i, 3});
        check(&s, &how, w, packed);
    }
    free(w);
    free(packed);
}

int main(void)
{
    static const takt_panels panels[] = {{12, 8}, {16, 16}, {8, 8}};
    static const size_t channels[][2] = {{1, 1}, {3, 5}, {4, 12}, {7, 20}, {17, 33}, {261, 44}};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        for (size_t p = 0; p < sizeof panels / sizeof *panels; p++)
            for (size_t order = 0; order < 3; order++)
                try(channels[i][0], channels[i][1], order, panels[p], false);
    for (size_t order = 0; order < 3; order++) {
        try(514, 131, order, panels[order], false);
        try(514, 131, order, panels[order], true);
    }
    return test_done();
}
