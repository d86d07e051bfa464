/* blocked.h - the walk over a large product of f16, shared by the vector variants.
 *
 * A template: a variant defines the constants
 *     WIDE, NARROW  columns of B's panels     MR     rows of a full tile
 *     A_BYTES  of packed A to keep in L2      COPIES  of each element in packed A
 * includes this file, and supplies the functions declared below. A panel of one chunk of B stays in
 * L1 or L2 while the strips of a block of rows run past it; sums are added to C chunk by chunk, and
 * C is brought back from the powers of two in the end.
 */
enum { CHUNK = TAKT_F16_CHUNK, SUM = TAKT_F16_SUM, ROWS_MAX = 30 * MR };

/* c[rows, cols] (+)= A * B over at most one chunk. */
typedef struct tile_job {
    const uint16_t *a, *b;
    size_t k;
    float *c;
    size_t ldc;
    bool adds; /* to what is in c */
} tile_job;

/* `rows` rows of A, k values each, times 2^exponent[row]. */
typedef struct strip {
    const float *a;
    size_t rows, k;
    const int *exponent;
} strip;

/* Writes whole panels (`cols` is WIDE or NARROW) and `rows` rows, at most MR. */
static void tile(size_t rows, size_t cols, const tile_job *t);
/* As tile wants it: strip_elems of f16. */
static void pack_strip(const takt_gemm_f32 *g, const strip *s, uint16_t *to);
static size_t strip_elems(size_t rows, size_t k);
/* The largest |a| of k, where none is NaN or infinite; else NaN or infinity. */
static float largest_of(const float *a, size_t k);
/* One row of A, k f16 of one chunk, by a panel of B of `cols` columns (WIDE or NARROW) and, if
 * `count` is 4, by three more that lie b_step apart, to pieces of C that lie c_step apart. */
typedef struct row_job {
    const uint16_t *a, *b;
    size_t b_step, k;
    float *c;
    size_t c_step;
    bool adds;
} row_job;
static void row_panels(const row_job *r, size_t count, size_t cols);
/* k values of a row, times 2^exponent: the whole vectors that row_panels reads. */
static void round_row(const float *a, size_t k, int exponent, uint16_t *to);

static const takt_panels widths = {WIDE, NARROW};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static const uint16_t *packed_b(const takt_gemm_f32 *g)
{
    return (const uint16_t *)g->stored->data + TAKT_F16_HEAD;
}

static int exponent_b(const takt_gemm_f32 *g)
{
    return (int16_t) * (const uint16_t *)g->stored->data;
}

static size_t most_rows(const takt_gemm_f32 *g)
{
    const size_t fit = A_BYTES / sizeof(uint16_t) / COPIES / (least(g->k, CHUNK) + 1);
    return least(fit / MR * MR < MR ? MR : fit / MR * MR, ROWS_MAX);
}

static size_t block_rows(const takt_gemm_f32 *g)
{
    const size_t most = most_rows(g), blocks = (g->m + most - 1) / most;
    return round_up((g->m + blocks - 1) / blocks, MR);
}

/* Packed A, then a tile for edges, then exponents of rows. Grows with m, n and k. One row needs a
 * vector more than its k. */
static size_t a_bytes(const takt_gemm_f32 *g)
{
    const size_t rows = round_up(least(g->m, most_rows(g)), MR) + MR;
    return round_up(rows * round_up(least(g->k, CHUNK), 32) * COPIES * sizeof(uint16_t), 64);
}

static size_t edge_bytes(void)
{
    return round_up(MR * WIDE * sizeof(float), 64);
}

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

#include "kernel/gemm_f16/one_row.h"

/* Strips are about equally tall. */
static size_t strip_rows(size_t left)
{
    const size_t strips = (left + MR - 1) / MR;
    return (left + strips - 1) / strips;
}

typedef struct block {
    size_t row, rows, p, k;
    float *edge;
    int *exponent; /* of each row */
} block;

static void pack_block(const takt_gemm_f32 *g, const block *o)
{
    uint16_t *to = (uint16_t *)(void *)g->scratch;
    for (size_t i = 0, rows; i < o->rows; i += rows) {
        rows = strip_rows(o->rows - i);
        const strip s = {.a = g->a + (o->row + i) * g->a_row + o->p * g->a_col,
                         .rows = rows,
                         .k = o->k,
                         .exponent = o->exponent + i};
        pack_strip(g, &s, to);
        to += strip_elems(rows, o->k);
    }
}

/* A panel that C has not all columns of: through a tile in scratch. */
static void edge_tile(const tile_job *t, float *edge, size_t rows, size_t cols, size_t width)
{
    tile_job whole = *t;
    whole.c = edge;
    whole.ldc = width;
    for (size_t i = 0; t->adds && i < rows; i++)
        memcpy(edge + i * width, t->c + i * t->ldc, cols * sizeof *edge);
    tile(rows, width, &whole);
    for (size_t i = 0; i < rows; i++)
        memcpy(t->c + i * t->ldc, edge + i * width, cols * sizeof *edge);
}

/* All panels of one chunk by one block of rows. */
static void multiply(const takt_gemm_f32 *g, const block *o)
{
    const size_t wide = WIDE * takt_panels_wide(widths, g->b_n);
    const uint16_t *b =
        packed_b(g) + o->p * takt_panels_columns(widths, g->b_n) + g->b_first * o->k;
    for (size_t col = 0, width; col < g->n; col += width, b += width * o->k) {
        width = g->b_first + col < wide ? WIDE : NARROW;
        tile_job t = {.a = (const uint16_t *)(const void *)g->scratch,
                      .b = b,
                      .k = o->k,
                      .c = g->c + o->row * g->ldc + col,
                      .ldc = g->ldc,
                      .adds = o->p > 0};
        for (size_t i = 0, rows; i < o->rows; i += rows) {
            rows = strip_rows(o->rows - i);
            if (g->n - col < width)
                edge_tile(&t, o->edge, rows, g->n - col, width);
            else
                tile(rows, width, &t);
            t.a += strip_elems(rows, o->k);
            t.c += rows * g->ldc;
        }
    }
}

static void finish_block(const takt_gemm_f32 *g, const block *o)
{
    const takt_epilogue_f32 *e = g->epilogue;
    float *c = g->c + o->row * g->ldc;
    const int packed = exponent_b(g);
    for (size_t i = 0; i < o->rows; i++) {
        takt_gemm_f16_unscale(c + i * g->ldc, g->n, -o->exponent[i] - packed);
        if (e)
            finish_row(e, c + i * g->ldc, o->row + i, 0, g->n);
    }
    if (e && e->tail)
        e->tail(e->user, c, g->ldc, o->row, 0, o->rows, g->n);
}

static void run(const takt_gemm_f32 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    if (g->m == 1) {
        one_row(g);
        return;
    }
    const size_t most = block_rows(g);
    char *after = (char *)g->scratch + a_bytes(g);
    block o = {.edge = (float *)(void *)after, .exponent = (int *)(void *)(after + edge_bytes())};
    for (; o.row < g->m; o.row += o.rows) {
        o.rows = least(g->m - o.row, most);
        for (size_t i = 0; i < o.rows; i++)
            o.exponent[i] = exponent_of_row(g, g->a + (o.row + i) * g->a_row);
        o.p = 0;
        do {
            o.k = least(g->k - o.p, CHUNK);
            pack_block(g, &o);
            multiply(g, &o);
            o.p += CHUNK;
        } while (o.p < g->k);
        finish_block(g, &o);
    }
}
