/* ggml_few_body.h - a few rows by a panel of sixteen columns: weights become floats in registers.
 *
 * Every vector variant is this, compiled for its ISA.
 */
#include "kernel/ggml_few/ggml_few.h"
#include "kernel/ggml_panels/floats.h"
#include "kernel/pack/panels.h"

/* Panels that one row is multiplied with at once: sums of one would wait for themselves. */
enum { APART = VF == 16 ? 2 : 1, WIDTH = APART * VECTORS };

typedef struct tile_job {
    const takt_ggml_few *g;
    size_t row, panel, apart; /* the first panel, and from one to the next */
} tile_job;

/* Compile-time constants once everything is inlined; vector u is vector u % VECTORS of panel u /
 * VECTORS. */
typedef struct shape {
    takt_ggml_format format;
    size_t rows, vectors;
} shape;

/* Four k: levels of all vectors by one value of each row. */
FIXED void four(const uint8_t *const *p, const int g, const float *const *a, const ggml_factors *o,
                vf (*acc)[WIDTH], const shape f)
{
    UNROLL for (size_t u = 0; u < f.vectors; u++)
    {
        const vi level = ggml_level(f.format, p[u / VECTORS], g, u % VECTORS);
        UNROLL for (int i = 0; i < 4; i++)
        {
            const vf w = ggml_weight(f.format, level, i, &o[u]);
            UNROLL for (size_t r = 0; r < f.rows; r++) acc[r][u] =
                vf_fma(w, vf_set1(a[r][4 * g + i]), acc[r][u]);
        }
    }
}

FIXED void block(const uint8_t *const *p, const float *const *a, vf (*acc)[WIDTH], const shape f)
{
    const ggml_shape z = ggml_shape_of(f.format);
    for (int part = 0; part < z.weights / z.span; part++) {
        ggml_factors o[WIDTH];
        UNROLL for (size_t u = 0; u < f.vectors; u++) o[u] =
            ggml_factors_of(f.format, p[u / VECTORS], part, u % VECTORS);
        for (int half = 2 * part; half < 2 * part + 2; half++) /* not unrolled: code size */
            UNROLL for (int g = 0; g < z.span / 8; g++)
                four(p, half * (z.span / 8) + g, a, o, acc, f);
    }
}

FIXED void put(const takt_ggml_few *g, size_t row, size_t column, vf x, bool adds)
{
    if (column >= g->n)
        return;
    float *c = g->c + row * g->ldc + column;
    const size_t n = g->n - column < VF ? g->n - column : VF;
    vf_store_n(c, adds ? vf_add(vf_load_n(c, n), x) : x, n);
}

FIXED void tile_fixed(const tile_job *t, const shape f)
{
    const ggml_shape z = ggml_shape_of(f.format);
    const takt_ggml_few *g = t->g;
    const size_t bytes = takt_ggml_panel_block(f.format);
    const size_t chunk = TAKT_GEMM_CHUNK / (size_t)z.weights;
    const uint8_t *p[APART];
    const float *a[TAKT_GGML_FEW];
    UNROLL for (size_t i = 0; i < f.vectors / VECTORS; i++) p[i] =
        (const uint8_t *)g->panels + (t->panel + i * t->apart) * g->blocks * bytes;
    UNROLL for (size_t r = 0; r < f.rows; r++) a[r] = g->a + (t->row + r) * g->a_row;
    for (size_t from = 0; from < g->blocks; from += chunk) {
        const size_t end = from + chunk < g->blocks ? from + chunk : g->blocks;
        vf acc[TAKT_GGML_FEW][WIDTH];
        UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
            acc[r][u] = vf_zero();
        for (size_t b = from; b < end; b++) {
            if (f.rows == 1)
                UNROLL for (size_t i = 0; i < f.vectors / VECTORS; i++)
                    ggml_prefetch(f.format, p[i]);
            block(p, a, acc, f);
            UNROLL for (size_t i = 0; i < f.vectors / VECTORS; i++) p[i] += bytes;
            UNROLL for (size_t r = 0; r < f.rows; r++) a[r] += z.weights;
        }
        UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
        {
            const size_t panel = t->panel + u / VECTORS * t->apart;
            put(g, t->row + r, panel * TAKT_GGML_PANEL + u % VECTORS * VF, acc[r][u], from > 0);
        }
    }
}

#define TILES(name)                                                                                \
    static void far_##name(const tile_job *t)                                                      \
    {                                                                                              \
        tile_fixed(t, (shape){TAKT_GGML_##name, 1, WIDTH});                                        \
    }                                                                                              \
    static void row_##name(const tile_job *t)                                                      \
    {                                                                                              \
        tile_fixed(t, (shape){TAKT_GGML_##name, 1, VECTORS});                                      \
    }                                                                                              \
    static void rows_##name(const tile_job *t)                                                     \
    {                                                                                              \
        tile_fixed(t, (shape){TAKT_GGML_##name, TAKT_GGML_FEW, VECTORS});                          \
    }
GGML_FORMATS(TILES)

typedef void tile_fn(const tile_job *t);
enum { FAR, ROW, ROWS };
#define ENTRY(name) [TAKT_GGML_##name] = {far_##name, row_##name, rows_##name},
static tile_fn *const tiles[TAKT_GGML_FORMATS][3] = {GGML_FORMATS(ENTRY)};

static void one_row(tile_job *t)
{
    tile_fn *const *tile = tiles[t->g->format];
    const size_t panels = takt_ggml_panels(t->g->n), part = panels / APART;
    t->apart = part;
    for (t->panel = 0; t->panel < part; t->panel++)
        tile[FAR](t);
    for (t->panel = part * APART; t->panel < panels; t->panel++)
        tile[ROW](t);
}

static void run(const takt_ggml_few *g)
{
    tile_job t = {.g = g};
    while (t.row < g->m) {
        if (g->m - t.row < TAKT_GGML_FEW) {
            one_row(&t);
            t.row++;
            continue;
        }
        for (t.panel = 0; t.panel < takt_ggml_panels(g->n); t.panel++)
            tiles[g->format][ROWS](&t);
        t.row += TAKT_GGML_FEW;
    }
}

TAKT_KERNELS(ggml_few, TAKT_KERNEL(ggml_few, SIMD_NAME, SIMD_RANK, run, NULL));
