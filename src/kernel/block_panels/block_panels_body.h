/* block_panels_body.h - levels of sixteen columns by sixteen k at a time to packed floats. */
#include "kernel/block_panels/block_panels.h"
#include "kernel/blocks/widen.h"

enum { STEP = TAKT_BLOCKS_STEP, SIDE = TAKT_BLOCKS_PANEL };

typedef struct square {
    float x[STEP][SIDE];
} square;

FIXED void fill(const uint32_t *w, const block_parameters *parameters, square *to,
                const unsigned bits, const bool is_float)
{
    const block_parameters o = *parameters; /* not changed by the stores */
    UNROLL for (unsigned q = 0; q < 4; q++) UNROLL for (size_t v = 0; v < VECTORS; v++)
    {
        const int32_t *at = (const int32_t *)w + q / (8 / bits) * 16 + v * VF;
        const vi part = block_part(vi_load(at), bits, q % (8 / bits));
        UNROLL for (unsigned i = 0; i < 4; i++) vf_store(
            to->x[4 * q + i] + v * VF, block_weights(&o, v, block_byte(part, i), is_float));
    }
}

#define FILLS(bits)                                                                                \
    static void fill_##bits(const uint32_t *w, const block_parameters *o, square *to,              \
                            bool is_float)                                                         \
    {                                                                                              \
        if (is_float)                                                                              \
            fill(w, o, to, bits, true);                                                            \
        else                                                                                       \
            fill(w, o, to, bits, false);                                                           \
    }
FILLS(2)
FILLS(4)
FILLS(8)

/* `rows` rows of columns [first, + count) of a square to where they belong, `width` apart. */
static void copy(const square *from, size_t first, size_t count, float *to, size_t width,
                 size_t rows)
{
    for (size_t r = 0; r < rows; r++, to += width) {
        size_t i = 0;
        for (; i + 4 <= count; i += 4)
            memcpy(to + i, from->x[r] + first + i, 4 * sizeof(float));
        for (; i < count; i++)
            to[i] = from->x[r][first + i];
    }
}

/* A square whose first column is `column` and first row is `row` of the result. */
static void place(const takt_block_panels *g, const square *from, size_t column, size_t row,
                  size_t rows)
{
    const size_t n = g->b.n, end = column + SIDE < n ? column + SIDE : n;
    for (size_t j = column; j < end;) {
        const size_t panel = takt_panels_of(g->panels, n, j);
        const size_t begin = takt_panels_column(g->panels, n, panel);
        const size_t stop = takt_panels_column(g->panels, n, panel + 1);
        const size_t count = (stop < end ? stop : end) - j;
        copy(from, j - column, count, g->dst + begin * g->k + row * (stop - begin) + (j - begin),
             stop - begin, rows);
        j += count;
    }
}

static void clear_rest(const takt_block_panels *g)
{
    const size_t n = g->b.n, all = takt_panels_columns(g->panels, n);
    for (size_t j = n; j < all; j++) {
        const size_t panel = takt_panels_of(g->panels, n, j);
        const size_t begin = takt_panels_column(g->panels, n, panel);
        const size_t width = takt_panels_column(g->panels, n, panel + 1) - begin;
        for (size_t r = 0; r < g->k; r++)
            g->dst[begin * g->k + r * width + (j - begin)] = 0;
    }
}

static void run(const takt_block_panels *g)
{
    static void (*const fns[3])(const uint32_t *, const block_parameters *, square *,
                                bool) = {fill_2, fill_4, fill_8};
    const takt_blocks *b = &g->b;
    const size_t deep = takt_blocks_deep(b->k);
    for (size_t p = 0; p < takt_blocks_panels(b->n); p++) {
        const uint32_t *w = b->words + p * takt_blocks_words(b->bits, deep);
        block_parameters o;
        for (size_t row = 0, open = SIZE_MAX; row < g->k; row += STEP) {
            const size_t k = g->first + row, rows = g->k - row < STEP ? g->k - row : STEP;
            square s;
            if (k / b->block != open) {
                open = k / b->block;
                block_open(b, p, open, &o);
            }
            fns[b->bits / 4](w + takt_blocks_words(b->bits, k), &o, &s, b->zero_f32 != NULL);
            place(g, &s, p * SIDE, row, rows);
        }
    }
    clear_rest(g);
}

TAKT_KERNELS(block_panels, TAKT_KERNEL(block_panels, SIMD_NAME, SIMD_RANK, run, NULL));
