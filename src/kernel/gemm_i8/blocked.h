/* blocked.h - the walk over a large product of bytes, shared by the vector variants.
 *
 * A template: a variant defines the constants
 *     GROUP    k of one step, as in the layout of B     MR       rows of a full tile
 *     PANELS   panels of a full tile (1 or 2)           A_BYTES  of packed A to keep in L2
 *     A_SIZE   bytes of one packed value of A           PIECE    k is padded to this in packed A
 *     ROW_PAD  rows of a packed tile are padded to this
 * includes requant.h and this file, and supplies the functions declared below; if it defines
 * FINISHES_BYTES, finish_is_bytes(), finish_block(), finish_is_words() and finish_sums() too, for
 * results of 8 bits, and for sums as they are or as floats. Sums of a column of tiles stay in
 * scratch, in L1, until they are final; integers may be added in any order.
 */
enum {
    LINE = 16 * GROUP,    /* bytes of one step of a panel */
    CHUNK = 16384 / LINE, /* steps whose part of a panel stays in L1 */
    ROWS_MAX = 32 * MR,
    B_NEAR = 768 << 10, /* bytes of B that stay in L2 */
    NR = 16 * PANELS
};

/* sums[rows][NR] (+)= A * B over at most one chunk. */
typedef struct tile_job {
    const char *a;
    const int8_t *b;
    size_t b_panel;
    size_t k; /* steps */
    int32_t *c;
    size_t ldc;
    const int32_t *sum; /* c or NULL: nothing to add to */
    size_t sum_ld;
    bool a_unsigned;
    size_t near, far; /* bytes from what a step reads of B to what it may ask for */
} tile_job;

/* Rows of A, at most MR, from some byte on; `before`: bytes that may be read in front of it. */
typedef struct strip {
    const uint8_t *at[MR];
    size_t rows, before;
} strip;

/* k bytes of each row, as the tile wants them: packed_bytes. Parts of k in multiples of PIECE
 * follow each other. */
static void pack_tile(const takt_gemm_i8 *g, const strip *s, size_t k, char *to);
static size_t packed_bytes(size_t rows, size_t k);
static void tile(size_t rows, size_t panels, const tile_job *t);
/* sums[i * 16] of `count` panels (1 or 4) b_step bytes apart, over all steps, for one packed row.
 */
static void row_panels(const takt_gemm_i8 *g, const int8_t *b, size_t b_step, size_t steps,
                       int32_t *sums, size_t count);
/* What pack_tile adds to every value of A. */
static int32_t flip(const takt_gemm_i8 *g);

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t tile_rows(size_t left)
{
    return left >= 2 * MR ? MR : left <= MR ? left : (left + 1) / 2;
}

static size_t block_rows(const takt_gemm_i8 *g)
{
    const size_t fit = A_BYTES / (round_up(g->k, PIECE) + PIECE) / A_SIZE / MR * MR;
    const size_t most = least(fit < MR ? MR : fit, ROWS_MAX);
    const size_t blocks = (g->m + most - 1) / most;
    return round_up((g->m + blocks - 1) / blocks, MR);
}

/* Rows of the next block; never leaves a single one, for which there is no tile. */
static size_t rows_now(size_t left, size_t most)
{
    return left <= most ? left : left == most + 1 ? most - 1 : most;
}

/* Scratch: packed A, sums of tiles, sums of A's rows. */
static size_t a_bytes(const takt_gemm_i8 *g)
{
    const size_t rows =
        g->m == 1 ? ROW_PAD : round_up(least(g->m, block_rows(g)), ROW_PAD) + ROW_PAD;
    return round_up(rows * round_up(g->k, PIECE) * A_SIZE, 64);
}

static size_t sums_bytes(const takt_gemm_i8 *g)
{
    return g->m == 1 ? 4 * 64 : least(g->m, block_rows(g)) * NR * sizeof(int32_t);
}

static size_t scratch_bytes(const takt_gemm_i8 *g)
{
    if (g->m == 0 || g->n == 0)
        return 0;
    const size_t rows = least(g->m, block_rows(g));
    return a_bytes(g) + sums_bytes(g) + round_up(rows * sizeof(uint32_t), 64);
}

typedef struct block {
    size_t row, rows, col, cols;
    uint32_t shift;
    int32_t *sums;
    uint32_t *row_sums;
} block;

#ifdef FINISHES_BYTES
static void finish_block(const takt_gemm_i8 *g, const block *o);
static void finish_sums(const takt_gemm_i8 *g, const block *o);
#endif

static void pack_rows(const takt_gemm_i8 *g, size_t row, size_t rows, size_t p, size_t k, char *to)
{
    strip s = {.rows = rows, .before = p};
    for (size_t r = 0; r < rows; r++)
        s.at[r] = (const uint8_t *)g->a + (row + r) * g->a_row + p;
    pack_tile(g, &s, k, to);
}

/* The same of an image, tap by tap; each overwrites what the one before has written too much. */
static void pack_image(const takt_gemm_i8 *g, size_t row, size_t rows, size_t p, size_t k, char *to)
{
    const takt_i8_image *m = g->image;
    const uint8_t *first[MR];
    strip s = {.rows = rows};
    for (size_t r = 0; r < rows; r++)
        first[r] = takt_i8_image_row(m, row + r);
    for (size_t run; k > 0; p += run, k -= run) {
        const size_t c = p % m->channels, at = m->at[p / m->channels] + c;
        run = least(m->channels - c, k);
        for (size_t r = 0; r < rows; r++)
            s.at[r] = first[r] + at;
        pack_tile(g, &s, run, to);
        to += round_up(rows, ROW_PAD) * run * A_SIZE;
    }
}

static void pack_block(const takt_gemm_i8 *g, const block *o)
{
    char *to = g->scratch;
    for (size_t p = 0; p < g->k; p += (size_t)CHUNK * GROUP) {
        const size_t k = least(g->k - p, (size_t)CHUNK * GROUP);
        for (size_t i = 0, height; i < o->rows; i += height) {
            height = tile_rows(o->rows - i);
            if (g->image != NULL)
                pack_image(g, o->row + i, height, p, k, to);
            else
                pack_rows(g, o->row + i, height, p, k, to);
            to += packed_bytes(height, k);
        }
    }
    for (size_t i = 0; g->b_zero && i < o->rows; i++)
        o->row_sums[i] = sum_of_row(g, o->row + i);
}

/* Tile `which` of a chunk. The first two of several ask for the lines of the chunk that comes next,
 * one after the other, so that memory is read while all of them multiply; the others find their
 * part of B in L1. One that is alone goes ahead of itself, and so does the first where B stays in
 * L2. */
static void ask_ahead(tile_job *t, size_t which, bool is_alone, bool is_near, size_t next)
{
    t->near = is_alone ? 2048 + 64 : which == 0 ? 1024 : 0;
    t->far = is_alone ? 2048 : which < 2 ? next + 64 * which : 0;
    if (is_near && !is_alone) {
        t->near = which == 0 ? 2048 + 64 : 0;
        t->far = which == 0 ? 2048 : 0;
    }
}

static void multiply(const takt_gemm_i8 *g, const block *o)
{
    const size_t panels = (o->cols + 15) / 16;
    const char *a = g->scratch;
    size_t p = 0;
    do {
        const size_t k = least(g->k - p, (size_t)CHUNK * GROUP);
        tile_job t = {.b = g->b + o->col / 16 * g->b_panel + p * 16,
                      .b_panel = g->b_panel,
                      .k = (k + GROUP - 1) / GROUP,
                      .c = o->sums,
                      .ldc = NR,
                      .sum = p ? o->sums : NULL,
                      .sum_ld = NR,
                      .a_unsigned = g->a_unsigned};
        const size_t next = t.k * LINE; /* of this panel or another: they follow each other */
        for (size_t i = 0, which = 0, height; i < o->rows; i += height, which++) {
            height = tile_rows(o->rows - i);
            t.a = a;
            ask_ahead(&t, which, height == o->rows, g->n * g->k <= B_NEAR, next);
            tile(height, panels, &t);
            a += packed_bytes(height, k);
            t.c += height * NR;
            if (t.sum)
                t.sum += height * NR;
        }
        p += (size_t)CHUNK * GROUP;
    } while (p < g->k);
}

/* Whether that finished the sums: to bytes, or to whole panels of integers or floats. */
static bool finishes_vectors(const takt_gemm_i8 *g, const block *o)
{
#ifdef FINISHES_BYTES
    if (finish_is_bytes(g->requant)) {
        finish_block(g, o);
        return true;
    }
    if (finish_is_words(g->requant) && o->cols % 16 == 0) {
        finish_sums(g, o);
        return true;
    }
#else
    (void)g, (void)o;
#endif
    return false;
}

static void finish(const takt_gemm_i8 *g, const block *o)
{
    if (finishes_vectors(g, o))
        return;
    for (size_t i = 0; i < o->rows; i++) {
        uint32_t *x = (uint32_t *)o->sums + i * NR;
        correct(g, x, o->col, o->cols, o->shift, g->b_zero ? o->row_sums[i] : 0);
        requant_row(g, x, o->row + i, o->col, o->cols);
    }
    requant_tail(g, o->row, o->col, o->rows, o->cols);
}

/* One row, four panels a quarter of the columns apart: four streams read faster than one. */
static void one_row(const takt_gemm_i8 *g, const block *o)
{
    const size_t panels = (g->n + 15) / 16, quarter = panels / 4,
                 steps = (g->k + GROUP - 1) / GROUP;
    for (size_t j = 0; j < quarter + panels % 4; j++) {
        const size_t count = j < quarter ? 4 : 1, first = count == 4 ? j : j + 3 * quarter;
        row_panels(g, g->b + first * g->b_panel, quarter * g->b_panel, steps, o->sums, count);
        for (size_t i = 0; i < count; i++) {
            block part = *o;
            part.sums += 16 * i;
            part.col = 16 * (first + i * quarter);
            part.cols = least(g->n - part.col, 16);
            if (finishes_vectors(g, &part))
                continue;
            uint32_t *x = (uint32_t *)part.sums;
            correct(g, x, part.col, part.cols, o->shift, g->b_zero ? o->row_sums[0] : 0);
            requant_row(g, x, 0, part.col, part.cols);
        }
    }
    requant_tail(g, 0, 0, 1, g->n);
}

static void run(const takt_gemm_i8 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    char *sums = (char *)g->scratch + a_bytes(g);
    block o = {.rows = 1,
               .shift = (uint32_t)g->a_zero + (uint32_t)flip(g),
               .sums = (int32_t *)sums,
               .row_sums = (uint32_t *)(sums + sums_bytes(g))};
    const size_t most = block_rows(g);
    for (; o.row < g->m; o.row += o.rows) {
        o.rows = rows_now(g->m - o.row, most);
        pack_block(g, &o);
        if (g->m == 1) {
            one_row(g, &o);
            return;
        }
        for (o.col = 0; o.col < g->n && !takt_poll_stops(g->poll); o.col += NR) {
            o.cols = least(g->n - o.col, NR);
            multiply(g, &o);
            finish(g, &o);
        }
    }
}
