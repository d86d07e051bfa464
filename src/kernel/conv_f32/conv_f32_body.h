/* conv_f32_body.h - every variant of conv_f32 is this, compiled for its ISA.
 *
 * Neighbouring outputs of a line by the columns of a panel are summed in registers. An input is
 * read by itself and multiplied with a whole vector of weights, so it may lie anywhere: neither
 * patches nor packed rows are needed.
 */
#include "kernel/conv_f32/end.h"

/* Sums at a time: as many as leave registers for a row of weights and an input. */
enum { SUMS = VF == 16 ? 16 : VF == 8 ? 12 : 20, MOST = 16, LEAST = 8, FEW = 4 };
enum { PANEL_VECTORS = TAKT_CONV_PANEL / VF };

/* Outputs computed in parallel, with this many vectors of columns. */
INLINE size_t height(const size_t vectors)
{
    return SUMS / vectors < MOST ? SUMS / vectors : MOST;
}

/* A tile of outputs: where its first one reads, its columns' weights and place in y. */
typedef struct tile {
    const float *x, *w;
    float *y;
    size_t column, n; /* its first channel, and how many of the last vector's lanes are some */
} tile;

/* `rows` outputs by `vectors` of columns; `fixed` is the step where it is a constant, else 0. Then
 * four outputs share a pointer: with one each there would not be enough registers. */
INLINE void sum(const takt_conv_f32 *c, const tile *t, const size_t rows, const size_t vectors,
                const size_t fixed)
{
    vf acc[PANEL_VECTORS][MOST];
#pragma GCC unroll 16
    for (size_t v = 0; v < vectors; v++)
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++)
            acc[v][r] = vf_zero();
    const float *w = t->w;
    const size_t step = fixed > 0 ? fixed : c->step, few = fixed > 0 ? MOST : FEW;
    for (size_t i = 0; i < c->k; i++, w += TAKT_CONV_PANEL) {
        const float *x = t->x + c->at[i];
        if (VF == 16)
            __asm__("" : "+r"(x)); /* one register for the address */
        vf weight[PANEL_VECTORS];
#pragma GCC unroll 16
        for (size_t v = 0; v < vectors; v++)
            weight[v] = vf_load(w + v * VF);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            if (r > 0 && r % few == 0) {
                x += few * step;
                __asm__("" : "+r"(x));
            }
            const vf a = vf_set1(x[r % few * step]);
#pragma GCC unroll 16
            for (size_t v = 0; v < vectors; v++)
                acc[v][r] = vf_fma(a, weight[v], acc[v][r]);
        }
    }
#pragma GCC unroll 16
    for (size_t v = 0; v < vectors; v++) {
        const size_t n = v + 1 < vectors ? VF : t->n;
        if (c->adds)
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; r++) {
                const float *before = t->y + r * c->channels + v * VF;
                const vf sums = n == VF ? vf_load(before) : vf_load_n(before, n);
                acc[v][r] = vf_add(sums, with_zero(c, acc[v][r]));
            }
        finish(c, t->column + v * VF, n, acc[v], rows);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++)
            if (n == VF)
                vf_store(t->y + r * c->channels + v * VF, acc[v][r]);
            else
                vf_store_n(t->y + r * c->channels + v * VF, acc[v][r], n);
    }
}

#define HEIGHT(n)                                                                                  \
    case n:                                                                                        \
        if (n <= height(vectors) && n >= least)                                                    \
            sum(c, t, n, vectors, fixed);                                                          \
        break;

INLINE void sum_rows(const takt_conv_f32 *c, const tile *t, size_t rows, const size_t vectors,
                     const size_t fixed)
{
    const size_t least = fixed > 0 ? LEAST : 1;
    switch (rows) {
        HEIGHT(1)
        HEIGHT(2)
        HEIGHT(3)
        HEIGHT(4)
        HEIGHT(5)
        HEIGHT(6)
        HEIGHT(7)
        HEIGHT(8)
        HEIGHT(9)
        HEIGHT(10)
        HEIGHT(11)
        HEIGHT(12)
        HEIGHT(13)
        HEIGHT(14)
        HEIGHT(15)
        HEIGHT(16)
    default: break;
    }
}

/* All lines of one panel's columns; a line's outputs in parts as equal as possible. */
INLINE void lines(const takt_conv_f32 *c, tile t, const size_t vectors, const size_t fixed)
{
    const size_t most = height(vectors), parts = (c->columns + most - 1) / most;
    const float *x = c->x;
    float *y = c->y + t.column;
    for (size_t l = 0; l < c->lines; l++, x += c->line, y += c->columns * c->channels)
        for (size_t p = 0, q = 0; p < parts; p++) {
            const size_t rows = c->columns / parts + (p < c->columns % parts);
            t.x = x + q * c->step;
            t.y = y + q * c->channels;
            sum_rows(c, &t, rows, vectors, fixed);
            q += rows;
        }
}

/* Where vectors are long an instruction multiplies and loads, if it need not add for the address:
 * steps of one channel, with or without stride, and of eight. */
INLINE void panel(const takt_conv_f32 *c, const tile *t, const size_t vectors)
{
    const size_t most = height(vectors), parts = (c->columns + most - 1) / most;
    const size_t step = VF == 16 && c->columns / parts >= LEAST ? c->step : 0;
    if (VF == 16 && step == 1)
        lines(c, *t, vectors, 1);
    else if (VF == 16 && step == 2)
        lines(c, *t, vectors, 2);
    else if (VF == 16 && step == 8)
        lines(c, *t, vectors, 8);
    else
        lines(c, *t, vectors, 0);
}

#define PANEL(name, vectors)                                                                       \
    static void name(const takt_conv_f32 *c, const tile *t)                                        \
    {                                                                                              \
        panel(c, t, vectors <= PANEL_VECTORS ? vectors : 1);                                       \
    }
PANEL(one_vector, 1)
PANEL(two_vectors, 2)
PANEL(three_vectors, 3)
PANEL(four_vectors, 4)

/* ---- few channels ---- */

/* Outputs whose inputs are neighbours fill the lanes if there are too few channels for them. */
enum { THIN = 4, SPREAD = 8 };

/* What follows the sums of channel `o`, for `vectors` of outputs, `n` of them in the last. */
INLINE void spread_end(const takt_conv_f32 *c, size_t o, vf *acc, const size_t vectors, size_t n,
                       float *y)
{
    float lane[VF], bias[VF];
    takt_conv_f32 end = *c;
    for (size_t l = 0; l < VF; l++)
        bias[l] = c->bias != NULL ? c->bias[o] : 0;
    end.bias = c->bias != NULL ? bias : NULL;
    for (size_t v = 0; c->adds && v < vectors; v++) {
        const size_t count = v + 1 < vectors ? VF : n;
        for (size_t l = 0; l < VF; l++)
            lane[l] = l < count ? y[(v * VF + l) * c->channels + o] : 0;
        acc[v] = vf_add(vf_load(lane), with_zero(c, acc[v]));
    }
    finish(&end, 0, VF, acc, vectors);
    for (size_t v = 0; v < vectors; v++) {
        const size_t count = v + 1 < vectors ? VF : n;
        vf_store(lane, acc[v]);
        for (size_t l = 0; l < count; l++)
            y[(v * VF + l) * c->channels + o] = lane[l];
    }
}

INLINE void spread(const takt_conv_f32 *c, const float *x, float *y, const size_t channels,
                   const size_t vectors, size_t n)
{
    vf acc[THIN][SPREAD];
#pragma GCC unroll 16
    for (size_t o = 0; o < channels; o++)
#pragma GCC unroll 16
        for (size_t v = 0; v < vectors; v++)
            acc[o][v] = vf_zero();
    const float *w = c->w;
    for (size_t i = 0; i < c->k; i++, w += TAKT_CONV_PANEL) {
        const float *from = x + c->at[i];
        vf a[SPREAD];
#pragma GCC unroll 16
        for (size_t v = 0; v < vectors; v++)
            a[v] = vectors > 1 ? vf_load(from + v * VF) : vf_load_n(from, n);
#pragma GCC unroll 16
        for (size_t o = 0; o < channels; o++) {
            const vf weight = vf_set1(w[o]);
#pragma GCC unroll 16
            for (size_t v = 0; v < vectors; v++)
                acc[o][v] = vf_fma(a[v], weight, acc[o][v]);
        }
    }
#pragma GCC unroll 16
    for (size_t o = 0; o < channels; o++)
        spread_end(c, o, acc[o], vectors, n, y);
}

INLINE void spread_lines(const takt_conv_f32 *c, const size_t channels)
{
    const size_t vectors = channels == 1 ? SPREAD : SPREAD / 2, each = vectors * VF;
    for (size_t l = 0; l < c->lines; l++) {
        const float *x = c->x + l * c->line;
        float *y = c->y + l * c->columns * channels;
        size_t q = 0;
        for (; q + each <= c->columns; q += each)
            spread(c, x + q, y + q * channels, channels, vectors, VF);
        for (; q + 2 * VF <= c->columns; q += 2 * VF)
            spread(c, x + q, y + q * channels, channels, 2, VF);
        for (; q < c->columns; q += VF) {
            const size_t n = c->columns - q < VF ? c->columns - q : VF;
            spread(c, x + q, y + q * channels, channels, 1, n);
        }
    }
}

static void run_thin(const takt_conv_f32 *c)
{
    switch (c->channels) {
    case 1: spread_lines(c, 1); break;
    case 2: spread_lines(c, 2); break;
    case 3: spread_lines(c, 3); break;
    default: spread_lines(c, THIN); break;
    }
}

static void run(const takt_conv_f32 *c)
{
    if (c->step == 1 && c->channels <= THIN) {
        run_thin(c);
        return;
    }
    static void (*const by_vectors[])(const takt_conv_f32 *, const tile *) = {
        one_vector, two_vectors, three_vectors, four_vectors};
    for (size_t first = 0; first < c->channels; first += TAKT_CONV_PANEL) {
        const size_t left = c->channels - first;
        const size_t columns = left < TAKT_CONV_PANEL ? left : TAKT_CONV_PANEL;
        const size_t vectors = (columns + VF - 1) / VF;
        const tile t = {
            .w = c->w + first * c->k, .column = first, .n = columns - (vectors - 1) * VF};
        by_vectors[vectors - 1](c, &t);
    }
}

static const takt_conv_f32_info info = {TAKT_CONV_PANEL, VF > 4};

TAKT_KERNELS(conv_f32, TAKT_KERNEL(conv_f32, SIMD_NAME, SIMD_RANK, run, &info));
