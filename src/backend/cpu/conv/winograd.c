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

enum { SIDE = 4, HALF = 2 * SIDE, COLUMNS = 3 * SIDE, ROWS = 4, BLOCK = ROWS * COLUMNS };
enum { TAPS = 9, IN = TAKT_WINOGRAD_IN, POINTS = TAKT_WINOGRAD_POINTS };

/* x / 6, correctly rounded. Where fma is an instruction a product and its remainder are several
 * times as fast as a division and, by Markstein's theorem, the same for all doubles that sums of
 * floats can be; not for infinities. Of the two signs that a remainder of zero can have, the one of
 * 6 q - x keeps the sign of a zero. */
static inline double sixth(double x, bool is_finite)
{
#if defined(__aarch64__) || defined(__FMA__)
    const double r = 1.0 / 6, q = x * r;
    const double exact = __builtin_fma(__builtin_fma(6.0, q, -x), -r, q);
    return is_finite || x - x == 0 ? exact : q;
#else
    (void)is_finite;
    return x / 6;
#endif
}

/* x + y z where y z is exact: rounded once either way. */
static inline double plus(double x, double y, double z, bool is_finite)
{
#if defined(__aarch64__) || defined(__FMA__)
    return is_finite ? __builtin_fma(y, z, x) : x + y * z;
#else
    (void)is_finite;
    return x + y * z;
#endif
}

/* G times three values. */
static inline void times_g(double a, double w, double c, bool is_finite, double u[IN])
{
    const double b = sixth(w, is_finite), ends = sixth(a + c, is_finite);
    const double wide = plus(sixth(c, is_finite), sixth(a, is_finite), 0.25, is_finite);
    u[0] = a / 4;
    u[1] = -(ends + b);
    u[2] = b - ends;
    u[3] = plus(wide, b, 0.5, is_finite);
    u[4] = plus(wide, b, -0.5, is_finite);
    u[5] = c;
}

/* U of SIDE outputs, whose taps are `g`, each point BLOCK after the last. */
static inline void times_both(const double *g, bool is_finite, float *to)
{
    double half[IN * 3 * SIDE], u[IN];
    for (size_t j = 0; j < 3; j++)
        for (size_t i = 0; i < SIDE; i++) {
            const double *w = g + j * SIDE + i;
            times_g(w[0], w[3 * SIDE], w[6 * SIDE], is_finite, u);
            for (size_t k = 0; k < IN; k++)
                half[(3 * k + j) * SIDE + i] = u[k];
        }
    for (size_t k = 0; k < IN; k++)
        for (size_t i = 0; i < SIDE; i++) {
            const double *w = half + 3 * k * SIDE + i;
            times_g(w[0], w[SIDE], w[2 * SIDE], is_finite, u);
            for (size_t p = 0; p < IN; p++)
                to[(IN * k + p) * BLOCK + i] = (float)u[p];
        }
}

/* Sums of finite floats are finite doubles, and others are not: so one look is enough. */
static inline bool are_finite(const double *g)
{
    double sum[SIDE] = {g[0], g[1], g[2], g[3]};
    for (size_t k = 1; k < TAPS; k++)
        for (size_t i = 0; i < SIDE; i++)
            sum[i] += g[k * SIDE + i];
    return (sum[0] + sum[1] + (sum[2] + sum[3])) * 0 == 0;
}

/* The points of SIDE outputs side by side, each BLOCK after the last. */
static void transform(const float *taps, float *to)
{
    double g[TAPS * SIDE];
    for (size_t k = 0; k < TAPS * SIDE; k++)
        g[k] = (double)taps[k];
    if (are_finite(g))
        times_both(g, true, to);
    else
        times_both(g, false, to);
}

/* Of ROWS inputs, which lie `in` apart, and SIDE outputs, of which as many as `count` says exist:
 * for each input its taps, for each tap the outputs. Weights whose inputs are next to each other
 * are read several at a time. */
static inline void take(const takt_conv_shape *s, const float *w, size_t in, const size_t count[2],
                        float *taps)
{
    const size_t out = s->w_out;
    for (size_t k = 0; k < TAPS; k++) {
        const float *at = w + (s->is_flipped ? TAPS - 1 - k : k) * s->w_tap;
        for (size_t r = 0; r < count[0]; r++)
            for (size_t i = 0; i < SIDE; i++)
                taps[(r * TAPS + k) * SIDE + i] = i < count[1] ? at[r * in + i * out] : 0;
    }
}

size_t takt_winograd_point_floats(const takt_conv_shape *s, takt_panels panels)
{
    return takt_panels_columns(panels, s->cout) * s->cin;
}

/* Columns from `first` on, at most COLUMNS and a multiple of SIDE, of the panel that begins at
 * `panel`. */
typedef struct part {
    size_t first, columns, panel, width;
} part;

/* A call of memcpy takes longer than the copy: the compiler knows the usual numbers. */
static void put(const float *from, size_t count, float *to)
{
    if (count == BLOCK)
        memcpy(to, from, BLOCK * sizeof *to);
    else if (count == ROWS * HALF)
        memcpy(to, from, ROWS * HALF * sizeof *to);
    else if (count == HALF)
        memcpy(to, from, HALF * sizeof *to);
    else
        memcpy(to, from, count * sizeof *to);
}

/* `rows` input channels from `c` on, each point BLOCK after the last. Not part of its caller, whose
 * frame the tile nearly fills. */
static __attribute__((noinline)) void fill_tile(const takt_conv_shape *s, const float *w, size_t c,
                                                size_t rows, const part *o, float *tile)
{
    float taps[ROWS * TAPS * SIDE];
    for (size_t i = 0; i < o->columns; i += SIDE) {
        const size_t at = o->first + i, left = at < s->cout ? s->cout - at : 0;
        const float *from = left > 0 ? w + at * s->w_out + c * s->w_in : w;
        if (rows == ROWS && left >= SIDE && s->w_in == 1)
            take(s, from, 1, (const size_t[2]){ROWS, SIDE}, taps);
        else
            take(s, from, s->w_in, (const size_t[2]){rows, left}, taps);
        for (size_t r = 0; r < rows; r++)
            transform(taps + r * TAPS * SIDE, tile + r * o->columns + i);
    }
}

/* ROWS input channels from `c` on. The points are far apart, by a distance that most caches map to
 * a few sets: so several of each are written together, whole lines of the cache where a panel is
 * not wider than COLUMNS. */
static void pack_block(const takt_conv_shape *s, takt_panels panels, const float *w, size_t c,
                       const part *o, float *to)
{
    float tile[POINTS * BLOCK];
    const size_t each = takt_winograd_point_floats(s, panels);
    const size_t rows = s->cin - c < ROWS ? s->cin - c : ROWS;
    const bool is_whole = o->columns == o->width;
    fill_tile(s, w, c, rows, o, tile);
    to += takt_packed_at(panels, s->cin, s->cout, c, o->panel) + o->first - o->panel;
    for (size_t p = 0; p < POINTS; p++)
        for (size_t r = 0; r < (is_whole ? 1 : rows); r++)
            put(tile + p * BLOCK + r * o->columns, is_whole ? rows * o->columns : o->columns,
                to + p * each + r * o->width);
}

/* All columns of the input channels [c, end). */
static void pack_rows(const takt_conv_shape *s, takt_panels panels, const float *w, size_t c,
                      size_t end, float *to)
{
    for (size_t k = 0; k < takt_panels_count(panels, s->cout); k++) {
        part o = {.panel = takt_panels_column(panels, s->cout, k)};
        o.width = takt_panels_column(panels, s->cout, k + 1) - o.panel;
        const size_t most = o.width <= COLUMNS ? COLUMNS : HALF;
        for (size_t at = 0; at < o.width; at += most) {
            o.first = o.panel + at;
            o.columns = o.width - at < most ? o.width - at : most;
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
