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

static void run(const takt_conv_f32 *c)
{
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
