/* walk.h - blocking of a large product of 16-bit factors, shared by gemm_f16 and gemm_bf16.
 *
 * A template: blocked.h of a family and its variants define the constants
 *     WIDE, NARROW  columns of B's panels     MR     rows of a full tile
 *     CHUNK    values of k in a chunk of packed B
 *     GROUP    values of k that lie together  COPIES  of each element in packed A
 *     PIECE    k is padded to this in packed A, A_PAD in the memory reserved for it
 *     A_BYTES  of packed A to keep in L2
 *     B_BYTES  if a chunk of B is no larger, all of it stays there while strips of A pass, packed
 *              one at a time; 0: never
 *     BY_PANELS  1: what follows the product is done panel by panel, else row by row
 * include this file, and supply the functions declared below. A panel of one chunk of B stays in L1
 * or L2 while the strips of a block of rows run past it from L2; sums are added to C chunk by
 * chunk.
 *
 * A variant that defines WALKS_ITSELF has its own blocking and shares only the sizes of blocks; it
 * also defines DEEP, the most values of k that a block of packed A has.
 */
enum { ROWS_MAX = 30 * MR };
#ifndef WALKS_ITSELF
enum { DEEP = CHUNK };
#endif

typedef struct block {
    size_t row, rows, p, k;
    float *edge;
    int *exponent; /* of each row, where they have one */
} block;

#ifndef WALKS_ITSELF
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
/* `rows` rows of the block's part of A from its row `i` on, as tile wants them: strip_elems of 16
 * bits. */
static void pack_part(const takt_gemm_f32 *g, const block *o, size_t i, size_t rows, uint16_t *to);
#endif
static size_t strip_elems(size_t rows, size_t k);
static const uint16_t *packed_b(const takt_gemm_f32 *g);
/* Before anything of a block is packed. */
static void begin_block(const takt_gemm_f32 *g, const block *o);
/* The epilogue, for columns [col, col + cols) of a block whose sums are complete. */
static void finish_columns(const takt_gemm_f32 *g, const block *o, size_t col, size_t cols);

static const takt_panels widths = {WIDE, NARROW};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t most_rows(const takt_gemm_f32 *g)
{
    const size_t k = round_up(least(g->k, DEEP) + 1, PIECE);
    const size_t fit = A_BYTES / sizeof(uint16_t) / COPIES / k;
    if (B_BYTES > 0 && k * g->n * sizeof(uint16_t) <= B_BYTES)
        return MR;
    return least(fit / MR * MR < MR ? MR : fit / MR * MR, ROWS_MAX);
}

static size_t block_rows(const takt_gemm_f32 *g)
{
    const size_t most = most_rows(g), blocks = (g->m + most - 1) / most;
    return round_up((g->m + blocks - 1) / blocks, MR);
}

/* Scratch: packed A, then a tile for edges. Grows with m, n and k. */
static size_t a_bytes(const takt_gemm_f32 *g)
{
    const size_t rows = round_up(least(g->m, most_rows(g)), MR) + MR;
    return round_up(rows * round_up(least(g->k, DEEP), A_PAD) * COPIES * sizeof(uint16_t), 64);
}

static size_t edge_bytes(void)
{
    return round_up(MR * WIDE * sizeof(float), 64);
}

/* Strips are about equally tall. */
static size_t strip_rows(size_t left)
{
    const size_t strips = (left + MR - 1) / MR;
    return (left + strips - 1) / strips;
}

#ifndef WALKS_ITSELF
static void pack_block(const takt_gemm_f32 *g, const block *o)
{
    uint16_t *to = (uint16_t *)(void *)g->scratch;
    for (size_t i = 0, rows; i < o->rows; i += rows) {
        rows = strip_rows(o->rows - i);
        pack_part(g, o, i, rows, to);
        to += strip_elems(rows, o->k);
    }
}

/* A panel of which C lacks some columns: through a tile in scratch. */
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
    const uint16_t *b = packed_b(g) + o->p * takt_panels_columns(widths, g->b_n) + g->b_first * k;
    for (size_t col = 0, width; col < g->n; col += width, b += width * k) {
        if (takt_poll_stops(g->poll))
            return;
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
        if (BY_PANELS && o->p + CHUNK >= g->k)
            finish_columns(g, o, col, least(g->n - col, width));
    }
}

/* All blocks of rows; `o` has its edge and the room for exponents. */
static void walk(const takt_gemm_f32 *g, block o)
{
    const size_t most = block_rows(g);
    for (; o.row < g->m && !takt_poll_stops(g->poll); o.row += o.rows) {
        o.rows = least(g->m - o.row, most);
        begin_block(g, &o);
        o.p = 0;
        do {
            o.k = least(g->k - o.p, CHUNK);
            pack_block(g, &o);
            multiply(g, &o);
            o.p += CHUNK;
        } while (o.p < g->k && !takt_poll_stops(g->poll));
        if (!BY_PANELS)
            finish_columns(g, &o, 0, g->n);
    }
}
#endif
