/* winograd_bf16.c - the weights of a 3x3 convolution in the form of F(2x2, 3x3), in bf16. */
#include "kernel/winograd_bf16/winograd_bf16.h"

#include <string.h>

enum { POINTS = TAKT_WINOGRAD_BF16_POINTS };

size_t takt_winograd_bf16_count(const takt_gemm_bf16_info *pack, size_t cin, size_t cout)
{
    return POINTS * takt_gemm_bf16_count(pack, cin, cout);
}

/* G times three values with stride `from`, to four with stride `to`. */
static void times_g(const double *w, size_t from, double *u, size_t to)
{
    const double a = w[0], b = w[from], c = w[2 * from];
    u[0] = a;
    u[to] = (a + b + c) / 2;
    u[2 * to] = (a - b + c) / 2;
    u[3 * to] = c;
}

static void transform(const takt_winograd_bf16_weights *s, const float *w, double u[POINTS])
{
    double g[9], half[12];
    for (size_t t = 0; t < 9; t++)
        g[t] = w[t * s->w_tap];
    for (size_t j = 0; j < 3; j++)
        times_g(g + j, 3, half + j, 3);
    for (size_t i = 0; i < 4; i++)
        times_g(half + 3 * i, 1, u + 4 * i, 1);
}

/* Where element (c, o) of one matrix is: takt_gemm_bf16_pack's order, of one chunk. */
static size_t place(const takt_gemm_bf16_info *pack, const takt_winograd_bf16_weights *s, size_t c,
                    size_t o)
{
    const takt_panels panels = pack->gemm.panels;
    const size_t group = pack->group, k = (s->cin + group - 1) / group * group;
    const size_t panel = takt_panels_of(panels, s->cout, o);
    const size_t first = takt_panels_column(panels, s->cout, panel);
    const size_t width = takt_panels_column(panels, s->cout, panel + 1) - first;
    return first * k + c / group * group * width + (o - first) * group + c % group;
}

void takt_winograd_bf16_pack(const takt_gemm_bf16_info *pack, const takt_winograd_bf16_weights *s,
                             uint16_t *to)
{
    const size_t each = takt_gemm_bf16_count(pack, s->cin, s->cout);
    memset(to, 0, POINTS * each * sizeof *to);
    for (size_t o = 0; o < s->cout; o++)
        for (size_t c = 0; c < s->cin; c++) {
            double u[POINTS];
            transform(s, s->w + o * s->w_out + c * s->w_in, u);
            uint16_t *at = to + place(pack, s, c, o);
            for (size_t p = 0; p < POINTS; p++)
                at[p * each] = takt_bf16_round((float)u[p]);
        }
}
