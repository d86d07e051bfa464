/* blocked.h - the walk over a large product of bf16, shared by the vector variants.
 *
 * A template: a variant defines the constants
 *     WIDE, NARROW  columns of B's panels     MR     rows of a full tile
 *     CHUNK    values of k in a chunk of packed B
 *     GROUP    values of k that lie together  PIECE  k is padded to this in packed A
 *     A_BYTES  of packed A to keep in L2
 * includes this file, and supplies the functions declared below. A panel of one chunk of B stays in
 * L1 while the strips of a block of rows run past it from L2; sums are added to C chunk by chunk.
 */
enum { ROWS_MAX = 30 * MR };

/* c[rows, cols] (+)= A * B over at most one chunk. */
typedef struct tile_job {
    const uint16_t *a, *b;
    size_t steps; /* groups of k */
    float *c;
    size_t ldc;
    bool adds; /* to what is in c */
} tile_job;

/* Writes whole panels (`cols` is WIDE or NARROW) and `rows` rows, at most MR. */
static void tile(size_t rows, size_t cols, const tile_job *t);
/* `rows` rows of A, k values each from `a` on, as tile wants them: strip_elems of 16 bits. */
static void pack_strip(const takt_gemm_f32 *g, const float *a, size_t rows, size_t k, uint16_t *to);
static size_t strip_elems(size_t rows, size_t k);
#ifndef IMAGE_IN_PLACE
/* The same of rows from `row` on that lie in an image, values of k from p on. A variant that reads
 * images where they lie defines IMAGE_IN_PLACE. */
typedef struct strip {
    size_t row, rows, p, k;
} strip;
static void pack_image(const takt_bf16_image *m, const strip *s, uint16_t *to);
#endif
/* Before the first tile of a product, and after the last. */
static void begin(void);
static void end(void);

static const takt_panels widths = {WIDE, NARROW};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t block_rows(const takt_gemm_f32 *g)
{
    const size_t fit = A_BYTES / sizeof(uint16_t) / round_up(least(g->k, CHUNK) + 1, PIECE);
    const size_t most = least(fit / MR * MR < MR ? MR : fit / MR * MR, ROWS_MAX);
    const size_t blocks = (g->m + most - 1) / most;
    return round_up((g->m + blocks - 1) / blocks, MR);
}

/* Packed A, then a tile for edges. Grows with m, n and k. */
static size_t a_bytes(const takt_gemm_f32 *g)
{
    const size_t fit = A_BYTES / sizeof(uint16_t) / round_up(least(g->k, CHUNK) + 1, PIECE);
    const size_t most = least(fit / MR * MR < MR ? MR : fit / MR * MR, ROWS_MAX);
    const size_t rows = round_up(least(g->m, most), MR) + MR;
    return round_up(rows * round_up(least(g->k, CHUNK), PIECE) * sizeof(uint16_t), 64);
}

static size_t scratch_bytes(const takt_gemm_f32 *g)
{
    return g->m == 0 || g->n == 0 ? 0 : a_bytes(g) + round_up(MR * WIDE * sizeof(float), 64);
}

/* Strips are about equally tall. */
static size_t strip_rows(size_t left)
{
    const size_t strips = (left + MR - 1) / MR;
    return (left + strips - 1) / strips;
}

typedef struct block {
    size_t row, rows, p, k;
    float *edge;
} block;

static void pack_block(const takt_gemm_f32 *g, const block *o)
{
    uint16_t *to = (uint16_t *)(void *)g->scratch;
    for (size_t i = 0, rows; i < o->rows; i += rows) {
        rows = strip_rows(o->rows - i);
#ifndef IMAGE_IN_PLACE
        if (g->image != NULL)
            pack_image(g->image, &(strip){o->row + i, rows, o->p, o->k}, to);
        else
#endif
            pack_strip(g, g->a + (o->row + i) * g->a_row + o->p * g->a_col, rows, o->k, to);
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
    const size_t k = round_up(o->k, GROUP), wide = WIDE * takt_panels_wide(widths, g->b_n);
    const uint16_t *b = (const uint16_t *)g->stored->data +
                        o->p * takt_panels_columns(widths, g->b_n) + g->b_first * k;
    for (size_t col = 0, width; col < g->n; col += width, b += width * k) {
        width = g->b_first + col < wide ? WIDE : NARROW;
        tile_job t = {.a = (const uint16_t *)(const void *)g->scratch,
                      .b = b,
                      .steps = k / GROUP,
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
    for (size_t i = 0; e && i < o->rows; i++)
        finish_row(e, c + i * g->ldc, o->row + i, 0, g->n);
    if (e && e->tail)
        e->tail(e->user, c, g->ldc, o->row, 0, o->rows, g->n);
}

static void run(const takt_gemm_f32 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    const size_t most = block_rows(g);
    begin();
    block o = {.edge = (float *)(void *)((char *)g->scratch + a_bytes(g))};
    for (; o.row < g->m; o.row += o.rows) {
        o.rows = least(g->m - o.row, most);
        o.p = 0;
        do {
            o.k = least(g->k - o.p, CHUNK);
            pack_block(g, &o);
            multiply(g, &o);
            o.p += CHUNK;
        } while (o.p < g->k);
        finish_block(g, &o);
    }
    end();
}
