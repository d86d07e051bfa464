/* blocked.h - blocking of a large product of f16, shared by the vector variants.
 *
 * A template: a variant defines the constants
 *     WIDE, NARROW  columns of B's panels     MR     rows of a full tile
 *     A_BYTES  of packed A to keep in L2      COPIES  of each element in packed A
 * includes this file, and supplies tile and strip_elems of gemm_half/walk.h and the functions
 * declared below. In the end C is scaled back by the powers of two.
 */
enum { CHUNK = TAKT_F16_CHUNK, SUM = TAKT_F16_SUM };
enum {
    GROUP = 1,
    PIECE = 1,
    B_BYTES = 0,
    BY_PANELS = 0,
    A_PAD = 32
}; /* one row needs a vector more than its k */

#include "kernel/gemm_half/walk.h"

#include "kernel/gemm_half/row.h"

/* `rows` rows of A, k values each, times 2^exponent[row]. */
typedef struct strip {
    const float *a;
    size_t rows, k;
    const int *exponent;
} strip;

/* As tile wants it: strip_elems of f16. */
static void pack_strip(const takt_gemm_f32 *g, const strip *s, uint16_t *to);
/* The largest |a| of k, where none is NaN or infinite; else NaN or infinity. */
static float largest_of(const float *a, size_t k);
/* k values of a row, times 2^exponent: the whole vectors that row_panels reads. */
static void round_row(const float *a, size_t k, int exponent, uint16_t *to);

static const uint16_t *packed_b(const takt_gemm_f32 *g)
{
    return (const uint16_t *)g->stored->data + TAKT_F16_HEAD;
}

static int exponent_b(const takt_gemm_f32 *g)
{
    return (int16_t) * (const uint16_t *)g->stored->data;
}

/* And exponents of rows. */
static size_t scratch_bytes(const takt_gemm_f32 *g)
{
    return g->m == 0 || g->n == 0 ? 0 : a_bytes(g) + edge_bytes() + (ROWS_MAX + MR) * sizeof(int);
}

static int exponent_of_row(const takt_gemm_f32 *g, const float *a)
{
    float largest = g->a_col == 1 ? largest_of(a, g->k) : NAN;
    if (isfinite(largest))
        return takt_gemm_f16_exponent(largest);
    largest = 0;
    for (size_t p = 0; p < g->k; p++) {
        const float size = fabsf(a[p * g->a_col]);
        largest = size > largest && isfinite(size) ? size : largest;
    }
    return takt_gemm_f16_exponent(largest);
}

/* The part of A's row that a chunk needs. */
static void round_chunk(const takt_gemm_f32 *g, const block *o)
{
    uint16_t *to = (uint16_t *)(void *)g->scratch;
    const float *a = g->a + o->p * g->a_col;
    if (g->a_col == 1) {
        round_row(a, o->k, o->exponent[0], to);
        return;
    }
    for (size_t i = 0; i < o->k; i += 32) {
        float part[32] = {0};
        for (size_t q = 0; q < 32 && i + q < o->k; q++)
            part[q] = a[(i + q) * g->a_col];
        round_row(part, 32, o->exponent[0], to + i);
    }
}

static void pack_part(const takt_gemm_f32 *g, const block *o, size_t i, size_t rows, uint16_t *to)
{
    const strip s = {.a = g->a + (o->row + i) * g->a_row + o->p * g->a_col,
                     .rows = rows,
                     .k = o->k,
                     .exponent = o->exponent + i};
    pack_strip(g, &s, to);
}

static void begin_block(const takt_gemm_f32 *g, const block *o)
{
    for (size_t i = 0; i < o->rows; i++)
        o->exponent[i] = exponent_of_row(g, g->a + (o->row + i) * g->a_row);
}

static void finish_columns(const takt_gemm_f32 *g, const block *o, size_t col, size_t cols)
{
    const takt_epilogue_f32 *e = g->epilogue;
    float *c = g->c + o->row * g->ldc + col;
    const int packed = exponent_b(g);
    for (size_t i = 0; i < o->rows; i++) {
        takt_gemm_f16_unscale(c + i * g->ldc, cols, -o->exponent[i] - packed);
        if (e)
            finish_row(e, c + i * g->ldc, o->row + i, col, cols);
    }
    if (e && e->tail)
        e->tail(e->user, c, g->ldc, o->row, col, o->rows, cols);
}

static void run(const takt_gemm_f32 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    char *after = (char *)g->scratch + a_bytes(g);
    const block o = {.rows = 1,
                     .edge = (float *)(void *)after,
                     .exponent = (int *)(void *)(after + edge_bytes())};
    if (g->m == 1)
        one_row(g, o);
    else
        walk(g, o);
}
