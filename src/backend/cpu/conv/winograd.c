/* winograd.c - the weights of a 3x3 convolution in Winograd's form. */
#include "backend/cpu/conv/winograd.h"

#include <string.h>

#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/winograd_f32/winograd_f32.h"
#include "kernel/winograd_w_f32/winograd_w_f32.h"
#include "op/util/conv.h"

enum { SIDE = TAKT_WINOGRAD_W_SIDE, HALF = 2 * SIDE, COLUMNS = 3 * SIDE };
enum { ROWS = 4, BLOCK = ROWS * COLUMNS };
enum { TAPS = TAKT_WINOGRAD_W_TAPS, POINTS = TAKT_WINOGRAD_POINTS };

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

size_t takt_winograd_numbers(const takt_winograd_packing *k)
{
    return k->keeps_taps ? TAPS : POINTS;
}

size_t takt_winograd_point_floats(const takt_conv_shape *s, takt_panels panels)
{
    return takt_panels_columns(panels, s->cout) * s->cin;
}

/* What is packed, and by which kernel. */
typedef struct packing {
    const takt_conv_shape *shape;
    const takt_winograd_packing *how;
    takt_panels panels;
} packing;

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

/* Taps of `rows` inputs by SIDE outputs, each tap BLOCK after the last. */
static void place_taps(const float *taps, size_t rows, size_t columns, float *tile)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < TAPS; k++)
            memcpy(tile + k * BLOCK + r * columns, taps + (r * TAPS + k) * SIDE,
                   SIDE * sizeof *tile);
}

/* `rows` input channels from `c` on, each point BLOCK after the last; or the taps, if `exact` is
 * NULL. Not part of its caller, whose frame the tile nearly fills. */
static __attribute__((noinline)) void fill_tile(const packing *k, takt_winograd_w_f32_fn *exact,
                                                const float *w, const size_t range[2],
                                                const part *o, float *tile)
{
    const takt_conv_shape *s = k->shape;
    const size_t c = range[0], rows = range[1];
    float taps[ROWS * TAPS * SIDE];
    for (size_t i = 0; i < o->columns; i += SIDE) {
        const size_t at = o->first + i, left = at < s->cout ? s->cout - at : 0;
        const float *from = left > 0 ? w + at * s->w_out + c * s->w_in : w;
        if (rows == ROWS && left >= SIDE && s->w_in == 1)
            take(s, from, 1, (const size_t[2]){ROWS, SIDE}, taps);
        else
            take(s, from, s->w_in, (const size_t[2]){rows, left}, taps);
        if (exact == NULL)
            place_taps(taps, rows, o->columns, tile + i);
        else
            exact(&(takt_winograd_w_f32){.groups = rows,
                                         .taps = taps,
                                         .points = tile + i,
                                         .group_stride = o->columns,
                                         .point_stride = BLOCK});
    }
}

/* The same in f32, where elements of a tile that no one reads are transformed, too. */
static __attribute__((noinline)) void
fill_rounded(const packing *k, const float *w, const size_t range[2], const part *o, float *tile)
{
    float all[TAPS * BLOCK] = {0};
    const float *taps[TAPS];
    fill_tile(k, NULL, w, range, o, all);
    for (size_t t = 0; t < TAPS; t++)
        taps[t] = all + t * BLOCK;
    k->how->rounded(&(takt_winograd_f32){.step = TAKT_WINOGRAD_WEIGHTS,
                                         .channels = BLOCK,
                                         .taps = taps,
                                         .points = tile,
                                         .point_stride = BLOCK});
}

/* ROWS input channels from `c` on. The points are far apart, by a distance that most caches map to
 * a few sets: so several of each are written together, whole lines of the cache where a panel is
 * not wider than COLUMNS. */
static void pack_block(const packing *k, const float *w, size_t c, const part *o, float *to)
{
    const takt_conv_shape *s = k->shape;
    float tile[POINTS * BLOCK];
    const size_t each = takt_winograd_point_floats(s, k->panels);
    const size_t rows = s->cin - c < ROWS ? s->cin - c : ROWS;
    const bool is_whole = o->columns == o->width;
    if (k->how->keeps_taps || !takt_conv_has_many_pairs(s->cin, s->cout))
        fill_tile(k, k->how->keeps_taps ? NULL : k->how->exact, w, (const size_t[2]){c, rows}, o,
                  tile);
    else
        fill_rounded(k, w, (const size_t[2]){c, rows}, o, tile);
    to += takt_packed_at(k->panels, s->cin, s->cout, c, o->panel) + o->first - o->panel;
    for (size_t p = 0; p < takt_winograd_numbers(k->how); p++)
        for (size_t r = 0; r < (is_whole ? 1 : rows); r++)
            put(tile + p * BLOCK + r * o->columns, is_whole ? rows * o->columns : o->columns,
                to + p * each + r * o->width);
}

/* All columns of the input channels [c, end). */
static void pack_rows(const packing *k, const float *w, size_t c, size_t end, float *to)
{
    const size_t cout = k->shape->cout;
    for (size_t n = 0; n < takt_panels_count(k->panels, cout); n++) {
        part o = {.panel = takt_panels_column(k->panels, cout, n)};
        o.width = takt_panels_column(k->panels, cout, n + 1) - o.panel;
        const size_t most = o.width <= COLUMNS ? COLUMNS : HALF;
        for (size_t at = 0; at < o.width; at += most) {
            o.first = o.panel + at;
            o.columns = o.width - at < most ? o.width - at : most;
            for (size_t row = c; row < end; row += ROWS)
                pack_block(k, w, row, &o, to);
        }
    }
}

/* In the order in which the weights lie: the nearer channel inside. */
static void pack_channels(const packing *k, const float *w, const size_t range[2], float *to)
{
    const takt_conv_shape *s = k->shape;
    const size_t end = range[1], step = s->w_out < s->w_in ? ROWS : s->cin;
    for (size_t c = range[0]; c < end; c += step)
        pack_rows(k, w, c, c + step < end ? c + step : end, to);
}

void takt_winograd_pack(const takt_conv_shape *s, const takt_winograd_packing *k, const float *w,
                        float *to)
{
    pack_channels(&(packing){s, k, k->panels}, w, (const size_t[2]){0, s->cin}, to);
}

void takt_winograd_pack_part(const takt_conv_shape *s, const takt_winograd_packing *k,
                             const float *w, float *to, const size_t share[2])
{
    size_t range[2];
    takt_cpu_share(s->cin, ROWS, share[0], share[1], &range[0], &range[1]);
    pack_channels(&(packing){s, k, k->panels}, w, range, to);
}
