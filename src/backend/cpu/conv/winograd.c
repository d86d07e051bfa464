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

enum { SIDE = 4, COLUMNS = 2 * SIDE, ROWS = 4, BLOCK = ROWS * COLUMNS };
enum { TAPS = 9, IN = TAKT_WINOGRAD_IN, POINTS = TAKT_WINOGRAD_POINTS };

/* x / 6, correctly rounded. Where fma is an instruction a product and its remainder are several
 * times as fast as a division and, by Markstein's theorem, the same for all doubles that sums of
 * floats can be; not for zeros, whose sign would be lost, and infinities. */
static inline double sixth(double x)
{
#if defined(__aarch64__) || defined(__FMA__)
    const double r = 1.0 / 6, q = x * r;
    const double exact = __builtin_fma(__builtin_fma(-6.0, q, x), r, q);
    return x - x == 0 && x != 0 ? exact : q;
#else
    return x / 6;
#endif
}

/* G times three times SIDE values with stride `from`, to six with stride `to`. */
static void times_g(const double *w, size_t from, double *u, size_t to)
{
    for (size_t i = 0; i < SIDE; i++) {
        const double a = w[i], b = sixth(w[i + from]), c = w[i + 2 * from];
        const double ends = sixth(a + c), wide = sixth(a) / 4 + sixth(c);
        u[i] = a / 4;
        u[i + to] = -(ends + b);
        u[i + 2 * to] = b - ends;
        u[i + 3 * to] = wide + b / 2;
        u[i + 4 * to] = wide - b / 2;
        u[i + 5 * to] = c;
    }
}

/* The points of SIDE outputs side by side, of which `count` exist, each BLOCK after the last. */
static void transform(const takt_conv_shape *s, const float *w, size_t count, float *to)
{
    double g[TAPS * SIDE], half[18 * SIDE], u[POINTS * SIDE];
    for (size_t k = 0; k < TAPS; k++)
        for (size_t i = 0; i < SIDE; i++)
            g[k * SIDE + i] =
                i < count ? (double)w[i * s->w_out + (s->is_flipped ? TAPS - 1 - k : k) * s->w_tap]
                          : 0;
    for (size_t j = 0; j < 3; j++)
        times_g(g + j * SIDE, 3 * SIDE, half + j * SIDE, 3 * SIDE);
    for (size_t i = 0; i < IN; i++)
        times_g(half + 3 * i * SIDE, SIDE, u + IN * i * SIDE, SIDE);
    for (size_t p = 0; p < POINTS; p++)
        for (size_t i = 0; i < SIDE; i++)
            to[p * BLOCK + i] = (float)u[p * SIDE + i];
}

size_t takt_winograd_point_floats(const takt_conv_shape *s, takt_panels panels)
{
    return takt_panels_columns(panels, s->cout) * s->cin;
}

/* Columns from `first` on, at most COLUMNS, of the panel that begins at `panel`. */
typedef struct part {
    size_t first, columns, panel, width;
} part;

/* ROWS input channels from `c` on. The points are far apart, by a distance that most caches map to
 * a few sets: so several of each are written together. */
static void pack_block(const takt_conv_shape *s, takt_panels panels, const float *w, size_t c,
                       const part *o, float *to)
{
    float tile[POINTS * BLOCK];
    const size_t each = takt_winograd_point_floats(s, panels);
    const size_t rows = s->cin - c < ROWS ? s->cin - c : ROWS;
    to += takt_packed_at(panels, s->cin, s->cout, c, o->panel) + o->first - o->panel;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < o->columns; i += SIDE) {
            const size_t at = o->first + i, left = at < s->cout ? s->cout - at : 0;
            transform(s, left > 0 ? w + at * s->w_out + (c + r) * s->w_in : w,
                      left < SIDE ? left : SIDE, tile + r * COLUMNS + i);
        }
    for (size_t p = 0; p < POINTS; p++)
        for (size_t r = 0; r < rows; r++)
            memcpy(to + p * each + r * o->width, tile + p * BLOCK + r * COLUMNS,
                   o->columns * sizeof *to);
}

/* All columns of the input channels [c, end). */
static void pack_rows(const takt_conv_shape *s, takt_panels panels, const float *w, size_t c,
                      size_t end, float *to)
{
    for (size_t k = 0; k < takt_panels_count(panels, s->cout); k++) {
        part o = {.panel = takt_panels_column(panels, s->cout, k)};
        o.width = takt_panels_column(panels, s->cout, k + 1) - o.panel;
        for (size_t at = 0; at < o.width; at += COLUMNS) {
            o.first = o.panel + at;
            o.columns = o.width - at < COLUMNS ? o.width - at : COLUMNS;
            for (size_t row = c; row < end; row += ROWS)
                pack_block(s, panels, w, row, &o, to);
        }
    }
}

/* In the order in which the weights lie: the nearer channel inside. */
static void pack_channels(const takt_conv_shape *s, takt_panels panels, const float *w,
                          const size_t range[2], float *to)
{
    const size_t end = range[1], step = s->w_out < s->w_in ? ROWS : s->cin;
    for (size_t c = range[0]; c < end; c += step)
        pack_rows(s, panels, w, c, c + step < end ? c + step : end, to);
}

void takt_winograd_pack(const takt_conv_shape *s, takt_panels panels, const float *w, float *to)
{
    pack_channels(s, panels, w, (const size_t[2]){0, s->cin}, to);
}

void takt_winograd_pack_part(const takt_conv_shape *s, takt_panels panels, const float *w,
                             float *to, const size_t share[2])
{
    size_t range[2];
    takt_cpu_share(s->cin, ROWS, share[0], share[1], &range[0], &range[1]);
    pack_channels(s, panels, w, range, to);
}
