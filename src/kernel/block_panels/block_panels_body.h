/* block_panels_body.h - levels of sixteen columns by sixteen k at a time to packed floats. */
#include "kernel/block_panels/block_panels.h"
#include "kernel/blocks/widen.h"

enum { STEP = TAKT_BLOCKS_STEP, SIDE = TAKT_BLOCKS_PANEL };

typedef struct square {
    float x[STEP][SIDE];
} square;

/* Where the vectors of sixteen columns go: their first row, and from one row to the next. */
typedef struct places {
    float *at[VECTORS];
    size_t width[VECTORS];
} places;

FIXED void fill(const uint32_t *w, const block_parameters *parameters, const places *to,
                const unsigned bits, const bool subtracts)
{
    const block_parameters o = *parameters; /* not changed by the stores */
    UNROLL for (size_t v = 0; v < VECTORS; v++)
    {
        float *at = to->at[v];
        const size_t width = to->width[v];
        UNROLL for (unsigned q = 0; q < 4; q++)
        {
            const int32_t *from = (const int32_t *)w + q / (8 / bits) * 16 + v * VF;
            const vi words = vi_load(from);
            UNROLL for (unsigned i = 0; i < 4; i++, at += width)
                vf_store(at, block_row(&o, v, words, bits, q % (8 / bits) * 4 + i, subtracts));
        }
    }
}

#define FILLS(bits)                                                                                \
    static void fill_##bits(const uint32_t *w, const block_parameters *o, const places *to,        \
                            bool subtracts)                                                        \
    {                                                                                              \
        if (subtracts)                                                                             \
            fill(w, o, to, bits, true);                                                            \
        else                                                                                       \
            fill(w, o, to, bits, false);                                                           \
    }
FILLS(2)
FILLS(4)
FILLS(8)

typedef void fill_fn(const uint32_t *w, const block_parameters *o, const places *to,
                     bool subtracts);

#if TAKT_SIMD_SET == 2
#include "kernel/blocks/neon_small.h"

#include "kernel/block_panels/neon_fill.h"
#else
typedef struct filling {
    const takt_blocks *b;
    block_parameters o; /* of the block that is open */
} filling;

static void filling_init(filling *f, const takt_blocks *b)
{
    f->b = b;
    block_begin(b, &f->o);
}

static void filling_open(filling *f, size_t panel, size_t block)
{
    block_open(f->b, panel, block, &f->o);
}

static void filling_fill(const filling *f, const uint32_t *w, const places *to)
{
    static fill_fn *const fns[3] = {fill_2, fill_4, fill_8};
    fns[f->b->bits / 4](w, &f->o, to, block_subtracts(f->b));
}
#endif

/* The places of sixteen columns of the result; false if a vector would lie in two panels, or
 * beyond the last column. */
static bool find_places(const takt_block_panels *g, size_t column, size_t row, places *o)
{
    const size_t n = g->b.n;
    for (size_t v = 0; v < VECTORS; v++) {
        const size_t j = column + v * VF;
        if (j + VF > n)
            return false;
        const size_t panel = takt_panels_of(g->panels, n, j);
        const size_t begin = takt_panels_column(g->panels, n, panel);
        const size_t end = takt_panels_column(g->panels, n, panel + 1);
        if (j + VF > end)
            return false;
        o->width[v] = end - begin;
        o->at[v] = g->dst + begin * g->k + row * o->width[v] + (j - begin);
    }
    return true;
}

/* A square whose first column is `column` and first row is `row` of the result. */
static void place(const takt_block_panels *g, const square *from, size_t column, size_t row,
                  size_t rows)
{
    const size_t n = g->b.n, end = column + SIDE < n ? column + SIDE : n;
    for (size_t j = column; j < end; j++) {
        const size_t panel = takt_panels_of(g->panels, n, j);
        const size_t begin = takt_panels_column(g->panels, n, panel);
        const size_t width = takt_panels_column(g->panels, n, panel + 1) - begin;
        float *to = g->dst + begin * g->k + row * width + (j - begin);
        for (size_t r = 0; r < rows; r++)
            to[r * width] = from->x[r][j - column];
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

#if TAKT_SIMD_SET != 2
#include "kernel/block_panels/whole.h"
#endif

static void one_panel(const takt_block_panels *g, size_t panel)
{
    const takt_blocks *b = &g->b;
    const size_t column = panel * SIDE;
    const uint32_t *w = b->words + panel * takt_blocks_words(b->bits, takt_blocks_deep(b->k));
    square s;
    filling f;
    places direct, aside;
    for (size_t v = 0; v < VECTORS; v++) {
        aside.at[v] = s.x[0] + v * VF;
        aside.width[v] = SIDE;
    }
    filling_init(&f, b);
    const bool fits = find_places(g, column, 0, &direct);
#if TAKT_SIMD_SET != 2
    if (fits && g->k % STEP == 0) {
        whole(g, panel, &direct);
        return;
    }
#endif
    for (size_t row = 0, open = SIZE_MAX; row < g->k; row += STEP) {
        const size_t k = g->first + row, rows = g->k - row < STEP ? g->k - row : STEP;
        const bool is_direct = fits && rows == STEP;
        if (k / b->block != open) {
            open = k / b->block;
            filling_open(&f, panel, open);
        }
        filling_fill(&f, w + takt_blocks_words(b->bits, k), is_direct ? &direct : &aside);
        if (!is_direct)
            place(g, &s, column, row, rows);
        for (size_t v = 0; is_direct && v < VECTORS; v++)
            direct.at[v] += STEP * direct.width[v];
    }
}

/* Rows of a panel are a short run of memory, which ends before the hardware prefetcher detects it:
 * they are prefetched one panel ahead, but not on ARM, where that costs as much as it saves. */
FIXED void ask_for(const takt_block_panels *g, size_t panel)
{
    const takt_blocks *b = &g->b;
    const size_t deep = takt_blocks_deep(g->k), count = takt_blocks_count(b);
    const size_t words = panel * takt_blocks_words(b->bits, takt_blocks_deep(b->k));
    const size_t size = TAKT_BLOCKS_PANEL * (b->scale_is_f16 ? 2 : 4), open = g->first / b->block;
    const char *w = (const char *)(b->words + words + takt_blocks_words(b->bits, g->first));
    const char *scale = (const char *)b->scale + (panel * count + open) * size;
    const size_t last = g->k > 0 ? (g->first + g->k - 1) / b->block : open;
    for (size_t i = 0; i < takt_blocks_words(b->bits, deep) * sizeof *b->words; i += 64)
        __builtin_prefetch(w + i);
    for (size_t i = 0; i < (last - open + 1) * size; i += 64)
        __builtin_prefetch(scale + i);
}

static void run(const takt_block_panels *g)
{
    const size_t panels = takt_blocks_panels(g->b.n);
    for (size_t p = 0; p < panels; p++) {
        if (TAKT_SIMD_SET != 2 && p + 1 < panels)
            ask_for(g, p + 1);
        one_panel(g, p);
    }
    clear_rest(g);
}

TAKT_KERNELS(block_panels, TAKT_KERNEL(block_panels, SIMD_NAME, SIMD_RANK, run, NULL));
