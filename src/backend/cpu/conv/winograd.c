/* winograd.c - the weights of a 3x3 convolution in Winograd's form.
 *
 *         [ 1/4    0     0  ]
 *         [-1/6  -1/6  -1/6 ]
 *    G  = [-1/6   1/6  -1/6 ]      U = G w Gt, in double, rounded to f32 once
 *         [1/24  1/12   1/6 ]
 *         [1/24 -1/12   1/6 ]
 *         [  0     0     1  ]
 */
#include "backend/cpu/conv/winograd.h"

#include <string.h>

#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/winograd_f32/winograd_f32.h"

/* G times three values that lie `from` apart, to six that lie `to` apart. */
static void times_g(const double *w, size_t from, double *u, size_t to)
{
    const double a = w[0], b = w[from], c = w[2 * from];
    const double ends = (a + c) / 6, wide = a / 24 + c / 6;
    u[0] = a / 4;
    u[to] = -(ends + b / 6);
    u[2 * to] = b / 6 - ends;
    u[3 * to] = wide + b / 12;
    u[4 * to] = wide - b / 12;
    u[5 * to] = c;
}

static void transform(const takt_conv_shape *s, const float *w, double u[TAKT_WINOGRAD_POINTS])
{
    double g[9], half[18];
    for (size_t t = 0; t < 9; t++)
        g[t] = w[(s->is_turned ? 8 - t : t) * s->w_tap];
    for (size_t j = 0; j < 3; j++)
        times_g(g + j, 3, half + j, 3);
    for (size_t i = 0; i < TAKT_WINOGRAD_IN; i++)
        times_g(half + 3 * i, 1, u + TAKT_WINOGRAD_IN * i, 1);
}

size_t takt_winograd_point_floats(const takt_conv_shape *s, takt_panels panels)
{
    return takt_panels_columns(panels, s->cout) * s->cin;
}

void takt_winograd_pack(const takt_conv_shape *s, takt_panels panels, const float *w, float *to)
{
    const size_t each = takt_winograd_point_floats(s, panels);
    memset(to, 0, TAKT_WINOGRAD_POINTS * each * sizeof *to);
    for (size_t o = 0; o < s->cout; o++)
        for (size_t c = 0; c < s->cin; c++) {
            double u[TAKT_WINOGRAD_POINTS];
            transform(s, w + o * s->w_out + c * s->w_in, u);
            float *at = to + takt_packed_at(panels, s->cin, s->cout, c, o);
            for (size_t p = 0; p < TAKT_WINOGRAD_POINTS; p++)
                at[p * each] = (float)u[p];
        }
}
