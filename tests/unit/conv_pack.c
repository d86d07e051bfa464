/* conv_pack.c - packed weights of convolutions: every element is where the panels say, zeros are
 * where there is none, whatever the order of the weights and however many parts pack them. */
#include <math.h>

#include "backend/cpu/conv/patch.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "test.h"

enum { LINE = 4 };

/* Weights with channels last, or first. */
static takt_conv_shape shape(size_t taps, size_t cin, size_t cout, size_t groups, bool last)
{
    const size_t k = taps * cin;
    return (takt_conv_shape){.groups = groups,
                             .cin = cin,
                             .cout = cout,
                             .taps = taps,
                             .k = k,
                             .k_row = (k + LINE - 1) / LINE * LINE,
                             .w_out = k,
                             .w_tap = last ? cin : 1,
                             .w_in = last ? 1 : taps};
}

/* Element (p, j) of the matrix of a group. */
static float element(const takt_conv_shape *s, const float *w, size_t p, size_t j)
{
    if (p >= s->k || j >= s->cout)
        return 0;
    return w[j * s->w_out + p / s->cin * s->w_tap + p % s->cin * s->w_in];
}

static void check(const takt_conv_shape *s, takt_panels panels, size_t parts)
{
    size_t floats, wrong = 0;
    const size_t count = s->groups * s->cout * s->k, columns = takt_panels_columns(panels, s->cout);
    EXPECT(takt_conv_packed_floats(s, panels, &floats), "too large");
    float *w = malloc(count * sizeof *w), *to = malloc(floats * sizeof *to);
    for (size_t i = 0; i < count; i++)
        w[i] = (float)(i + 1);
    for (size_t i = 0; i < floats; i++)
        to[i] = NAN;
    for (size_t i = 0; i < parts; i++)
        takt_conv_pack_part(s, panels, w, to, (const size_t[2]){i, parts});
    for (size_t g = 0; g < s->groups; g++)
        for (size_t p = 0; p < s->k_row; p++)
            for (size_t j = 0; j < columns; j++) {
                const size_t at = takt_packed_at(panels, s->k_row, s->cout, p, j);
                const float want = element(s, w + g * s->cout * s->w_out, p, j);
                wrong += to[g * columns * s->k_row + at] != want;
            }
    EXPECT(wrong == 0, "%zu taps, %zu to %zu, %zu groups, step %zu, %zu parts: %zu are wrong",
           s->taps, s->cin, s->cout, s->groups, s->w_in, parts, wrong);
    free(w);
    free(to);
}

static void is_where_panels_say(void)
{
    static const takt_panels kinds[] = {{32, 16}, {16, 16}, {12, 12}, {24, 12}};
    static const size_t sizes[][4] = {{9, 3, 20, 1},  {27, 16, 40, 1}, {1, 5, 7, 3},
                                      {9, 33, 64, 2}, {3, 171, 96, 1}, {1, 256, 33, 1},
                                      {25, 1, 100, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (size_t parts = 1; parts < 8; parts += 3)
                for (int last = 0; last < 2; last++) {
                    const size_t *n = sizes[i];
                    const takt_conv_shape s = shape(n[0], n[1], n[2], n[3], last);
                    check(&s, kinds[k], parts);
                }
}

TEST_MAIN(is_where_panels_say)
