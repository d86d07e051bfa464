/* blocked.h - the walk over a large product, shared by every vector variant and element type.
 *
 * A template: a variant defines the types elem, gemm, epilogue, the constants
 *     PANEL    columns of a panel of B            MR    rows of a full tile
 *     PANELS   panels of a full tile (1 or 2)     QUAD  values of k in one vector of 16 bytes
 *     A_BYTES  of packed A to keep in L2
 * includes this file, and supplies the functions `tile` and `row_panels` declared below.
 *
 * Order: blocks of rows, blocks of k, panels of B, chunks of k, tiles of rows. A block of A stays
 * in L2, a chunk of a panel of B in L1, and a column of C tiles is finished before the next begins,
 * so that C travels once.
 */
enum {
    CHUNK = TAKT_GEMM_CHUNK,
    K_BLOCK = 8 * CHUNK, /* k of one packed block of A */
    ROWS_MAX = 32 * MR,  /* rows of one block: its column of C stays near */
    NR = PANEL * PANELS,
    FEW = 4,        /* tiles in a column: with fewer, asking for B only stalls */
    TAIL_COLS = 128 /* columns of a block that a tail gets at once */
};

/* One tile: C[rows, cols] (+)= A * B over one chunk. */
typedef struct tile_job {
    const elem *a; /* packed: [ceil(k / QUAD)][rows][QUAD] */
    const elem *b;
    size_t b_panel;
    size_t k;
    elem *c;
    size_t ldc;
    const elem *sum; /* of earlier chunks, to be added to; NULL: this is the first */
    size_t sum_ld;
    const elem *bias;     /* the rest is for the last chunk; NULL: none */
    const elem *residual; /* NULL: none */
    size_t residual_stride;
    size_t act; /* NONE, RELU or CLIP */
    elem lo, hi;
} tile_job;

static void tile(size_t rows, size_t panels, const tile_job *t);
/* One row of A by panels of B that lie b_step apart, to pieces of C that lie c_step apart. */
typedef struct row_job {
    const elem *a, *b;
    size_t b_step, k;
    elem *c;
    size_t c_step;
} row_job;

/* `count` (1 or 4) panels, over all chunks of k. */
static void row_panels(const row_job *r, size_t count);

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* The last rows are shared by two tiles of about the same height: tall ones are faster. */
static size_t tile_rows(size_t left)
{
    return left >= 2 * MR ? MR : left <= MR ? left : (left + 1) / 2;
}

static size_t block_rows(const gemm *g)
{
    const size_t k = round_up(least(g->k, K_BLOCK), QUAD) + QUAD;
    const size_t fit = A_BYTES / sizeof(elem) / k / MR * MR;
    const size_t most = least(fit < MR ? MR : fit, ROWS_MAX);
    const size_t blocks = (g->m + most - 1) / most;
    return round_up((g->m + blocks - 1) / blocks, MR);
}

/* Rows of the next block; never leaves a single one, for which there is no tile. */
static size_t rows_now(size_t left, size_t most)
{
    return left <= most ? left : left == most + 1 ? most - 1 : most;
}

static size_t packed_a(const gemm *g)
{
    if (g->m == 1)
        return g->a_col == 1 ? 0 : round_up(g->k, NR);
    return least(g->m, block_rows(g)) * round_up(least(g->k, K_BLOCK), QUAD);
}

static size_t scratch_bytes(const gemm *g)
{
    if (g->m == 0 || g->n == 0)
        return 0;
    const bool direct = g->n % PANEL == 0 && (g->m == 1 || g->k <= CHUNK);
    const size_t sums = direct ? 0 : least(g->m, block_rows(g)) * NR;
    return round_up((round_up(packed_a(g), NR) + sums) * sizeof(elem), 64);
}

/* `rows` rows of A, `k` columns, to [k / QUAD][rows][QUAD]. What pads the last group is never used.
 */
static inline __attribute__((always_inline)) void pack_fixed(const gemm *g, const elem *a,
                                                             size_t rows, size_t k, elem *to)
{
    size_t p = 0;
    for (; p + QUAD <= k; p += QUAD, to += rows * QUAD)
        for (size_t r = 0; r < rows; r++)
            memcpy(to + r * QUAD, a + r * g->a_row + p, QUAD * sizeof *to);
    for (size_t r = 0; r < rows; r++)
        for (size_t q = 0; p + q < k; q++)
            to[r * QUAD + q] = a[r * g->a_row + p + q];
}

static void pack_tile(const gemm *g, const elem *a, size_t rows, size_t k, elem *to)
{
    if (g->a_col != 1) {
        for (size_t p = 0; p < k; p++)
            for (size_t r = 0; r < rows; r++)
                to[p / QUAD * rows * QUAD + r * QUAD + p % QUAD] = a[r * g->a_row + p * g->a_col];
    } else if (rows == MR) {
        pack_fixed(g, a, MR, k, to);
    } else {
        pack_fixed(g, a, rows, k, to);
    }
}

/* Rows [row, row + rows), k [p, p + k), chunk after chunk: tiles of one chunk follow each other, so
 * that the hardware's prefetching runs on from one to the next. */
static void pack_block(const gemm *g, size_t row, size_t rows, size_t p, size_t k)
{
    elem *to = g->scratch;
    for (size_t end = p + k, part; p < end; p += part) {
        part = least(end - p, CHUNK);
        for (size_t i = 0, height; i < rows; i += height) {
            height = tile_rows(rows - i);
            pack_tile(g, g->a + (row + i) * g->a_row + p * g->a_col, height, part, to);
            to += height * round_up(part, QUAD);
        }
    }
}

/* Whether registers can hold what follows the product; else it is done on rows in L1. */
static bool in_registers(const epilogue *e)
{
    return e->act != TAKT_GEMM_ACT_LEAKY &&
           !(e->residual && e->residual_last && e->act != TAKT_GEMM_ACT_NONE);
}

typedef struct block {
    size_t row, rows, p, k; /* this block of A; p is its first k */
    size_t col, cols;       /* these columns of C */
    elem *sums;             /* [rows][NR] for partial sums: closer together than C's rows */
    elem *c;                /* where the last chunk goes: C, or the sums if columns are missing */
    size_t ldc;
} block;

static void fuse(tile_job *t, const epilogue *e, size_t row, size_t col)
{
    t->bias = e->bias ? e->bias + col : NULL;
    t->residual = e->residual ? e->residual + row * e->residual_stride + col : NULL;
    t->residual_stride = e->residual_stride;
    t->act = e->act;
    t->lo = e->lo;
    t->hi = e->hi;
}

/* Asks for a share of the chunk of B that comes next. */
static void prefetch(const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(from + i, 0, 2);
}

static tile_job first_tile(const gemm *g, const block *o, size_t p)
{
    const bool last = p + CHUNK >= o->k, resumed = p == 0 && o->p > 0 && o->c != o->sums;
    const elem *sum = resumed ? o->c : o->p + p > 0 ? o->sums : NULL;
    return (tile_job){.a = g->scratch + p * o->rows,
                      .b = g->b + o->col / PANEL * g->b_panel + (o->p + p) * PANEL,
                      .b_panel = g->b_panel,
                      .k = least(o->k - p, CHUNK),
                      .c = last ? o->c : o->sums,
                      .ldc = last ? o->ldc : NR,
                      .sum = sum,
                      .sum_ld = resumed ? o->ldc : NR};
}

/* One chunk, all tiles of the block's rows. `fused`: the last chunk, with its epilogue. */
static void column_of_tiles(const gemm *g, const block *o, size_t p, const epilogue *fused)
{
    const size_t panels = (o->cols + PANEL - 1) / PANEL, tiles = (o->rows + MR - 1) / MR;
    const size_t share = round_up(CHUNK * 64 / tiles, 64);
    tile_job t = first_tile(g, o, p);
    const char *next = (const char *)(t.b + CHUNK * PANEL);
    for (size_t i = 0, height; i < o->rows; i += height) {
        height = tile_rows(o->rows - i);
        if (fused)
            fuse(&t, fused, o->row + i, o->col);
        if (tiles >= FEW)
            prefetch(next + i / MR * share, share);
        tile(height, panels, &t);
        t.a += height * round_up(t.k, QUAD);
        t.c += height * t.ldc;
        if (t.sum)
            t.sum += height * t.sum_ld;
    }
}

static void finish_rows(const gemm *g, const block *o)
{
    for (size_t i = 0; g->epilogue && i < o->rows; i++)
        finish_row(g->epilogue, o->c + i * o->ldc, o->row + i, o->col, o->cols);
}

static void copy_rows(elem *to, size_t to_ld, const elem *from, size_t from_ld, const block *o)
{
    for (size_t i = 0; i < o->rows; i++)
        memcpy(to + i * to_ld, from + i * from_ld, o->cols * sizeof *to);
}

/* One panel (or pair) of B: every chunk of this block of k. */
static void panel_of_block(const gemm *g, block *o)
{
    const bool last = o->p + o->k == g->k, edge = o->cols < NR && o->cols % PANEL != 0;
    const epilogue *e =
        last && !edge && g->epilogue && in_registers(g->epilogue) ? g->epilogue : NULL;
    elem *c = g->c + o->row * g->ldc + o->col;
    o->sums = g->scratch + round_up(packed_a(g), NR);
    o->c = edge ? o->sums : c;
    o->ldc = edge ? NR : g->ldc;
    if (edge && o->p > 0)
        copy_rows(o->c, NR, c, g->ldc, o);
    size_t p = 0;
    do {
        column_of_tiles(g, o, p, p + CHUNK >= o->k ? e : NULL);
        p += CHUNK;
    } while (p < o->k);
    if (last && !e)
        finish_rows(g, o);
    if (edge)
        copy_rows(c, g->ldc, o->c, NR, o);
}

static void call_tail(const gemm *g, size_t row, size_t rows, size_t col, size_t cols)
{
    const epilogue *e = g->epilogue;
    if (e && e->tail)
        e->tail(e->user, g->c + row * g->ldc + col, g->ldc, row, col, rows, cols);
}

static void block_of_rows(const gemm *g, size_t row, size_t rows)
{
    size_t p = 0;
    do {
        block o = {.row = row, .rows = rows, .p = p, .k = least(g->k - p, K_BLOCK)};
        pack_block(g, row, rows, p, o.k);
        for (size_t col = 0; col < g->n; col += NR) {
            o.col = col;
            o.cols = least(g->n - col, NR);
            panel_of_block(g, &o);
            const size_t end = col + o.cols, start = col / TAIL_COLS * TAIL_COLS;
            if (p + o.k == g->k && (end % TAIL_COLS == 0 || end == g->n))
                call_tail(g, row, rows, start, end - start);
        }
        p += K_BLOCK;
    } while (p < g->k);
}

/* One row: four panels a quarter of the columns apart, since one stream of reads leaves a third of
 * the memory's bandwidth unused. */
static void one_row(const gemm *g)
{
    const elem *a = g->a;
    elem *edge = g->scratch;
    if (g->a_col != 1) {
        for (size_t p = 0; p < g->k; p++)
            g->scratch[p] = g->a[p * g->a_col];
        a = g->scratch;
        edge += round_up(g->k, NR);
    }
    const size_t whole = g->n / PANEL, quarter = whole / 4;
    row_job r = {a, g->b, quarter * g->b_panel, g->k, g->c, quarter * PANEL};
    for (size_t j = 0; j < quarter; j++, r.b += g->b_panel, r.c += PANEL)
        row_panels(&r, 4);
    r.b = g->b + 4 * quarter * g->b_panel;
    r.c = g->c + 4 * quarter * PANEL;
    for (size_t j = 4 * quarter; j < whole; j++, r.b += g->b_panel, r.c += PANEL)
        row_panels(&r, 1);
    if (g->n % PANEL) {
        r.c = edge;
        row_panels(&r, 1);
        memcpy(g->c + whole * PANEL, edge, g->n % PANEL * sizeof *edge);
    }
    if (g->epilogue)
        finish_row(g->epilogue, g->c, 0, 0, g->n);
    call_tail(g, 0, 1, 0, g->n);
}

static void run(const gemm *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    if (g->m == 1) {
        one_row(g);
        return;
    }
    const size_t most = block_rows(g);
    for (size_t row = 0, rows; row < g->m; row += rows) {
        rows = rows_now(g->m - row, most);
        block_of_rows(g, row, rows);
    }
}
