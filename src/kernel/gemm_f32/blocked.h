/* blocked.h - the walk over a large product, shared by every vector variant and element type.
 *
 * A template: a variant defines the types elem, gemm, epilogue, the constants
 *     WIDE, NARROW  columns of B's panels         MR    rows of a full tile, of at most two panels
 *     PANELS   of the widest tile (1 to 3)        QUAD  values of k in one vector of 16 bytes
 *     A_BYTES  of packed A to keep in L2          B_BYTES  of one chunk of B to keep there
 *     MASKED   whether a tile can end within a panel
 *     STREAMS  panels that one row reads at a time (4 or 8), FAR_STREAMS from beyond the caches
 *     ASKS_FAR  bytes of B from which on a single strip's tiles ask for it themselves
 *               (tile_job.is_far); 0: never. ASKS_NEAR  bytes up to which they do so from L2, or 0
 * includes this file, and supplies the functions declared below; stored.h has those about B in
 * another form. It defines RUNS as 1 if a tile may be a run of them (tile_job.count); PANELS is 1
 * then. It defines BELOW as 1 if a run may only be of tiles below each other, whose A is in place,
 * and TURNS as the most full strips that pack_turned packs at a time if A's columns are rows.
 *
 * Order: blocks of rows, blocks of k, blocks of columns, chunks of k, strips of MR rows, tiles. A
 * strip of A stays in L1 while B runs past it from L2 in one unbroken stream. Partial sums lie
 * close together, so that C travels once.
 */
enum {
    CHUNK = TAKT_GEMM_CHUNK,
    K_BLOCK = 8 * CHUNK, /* k of one packed block of A */
    ROWS_MAX = 192,      /* rows of one block: a multiple of every MR but 14 */
    NR = WIDE * PANELS,
    BROAD = PANELS == 3 ? 2 * MR / 3 : MR, /* rows of the widest tile: as many sums */
    SUM_BYTES = 160 << 10,                 /* of partial sums at a time */
    FAR_BYTES = 16 << 20,                  /* a larger B is not expected in any cache */
    LOOK_ELEMS = 1 << 14                   /* of B by a strip, between two questions of the poll */
};

/* One tile: C[rows, cols] (+)= A * B over one chunk. */
typedef struct tile_job {
    const elem *a; /* packed, as pack_strip does it */
    size_t a_row;  /* if not 0: rows as they lie, so far apart */
    const elem *b;
    size_t b_panel; /* from one panel of the tile to the next */
    size_t k;
    size_t cols; /* that exist, if MASKED */
    elem *c;
    size_t ldc;
    const elem *sum; /* of earlier chunks, to be added to; NULL: this is the first */
    size_t sum_ld;
    const elem *bias;     /* the rest is for the last chunk; NULL: none */
    const elem *residual; /* NULL: none */
    size_t residual_stride;
    size_t act; /* NONE, RELU or CLIP */
    elem lo, hi;
    const elem *ahead; /* to be prefetched into L2: one line for every QUAD of k, */
    size_t ahead_step; /* so many bytes apart; 0: nothing, `ahead` is near */
    bool is_far;       /* B is far enough away, and nothing else was prefetched */
    const elem *start; /* sums to go on from, [rows][panels][panel], if ASKS_FAR; NULL: zero */
    /* A run of tiles, if RUNS or BELOW; else 0: */
    size_t count;
    bool is_below;                        /* each other, from strip to strip, instead of beside */
    size_t c_step, sum_step, ahead_share; /* elements from one tile to the next */
} tile_job;

/* `cols`: the tile's whole panels. */
static void tile(size_t rows, size_t cols, const tile_job *t);
/* Rows of A, k columns; and how many elements that takes: k times those of one k, which are at most
 * rows rounded up to 8. */
static void pack_strip(const gemm *g, const elem *a, size_t rows, size_t k, elem *to);
static size_t strip_elems(size_t rows, size_t k);
#ifdef TURNS
/* `strips` full ones, where the rows of A are neighbours and `a_col` is from one k to the next. */
static void pack_turned(const elem *a, size_t a_col, size_t strips, size_t k, elem *to);
#endif
/* Rows of a tile that reads A where it lies; 0: A is packed. */
static size_t rows_in_place(const gemm *g);

/* Whether B has another form; a piece of it as f32; its 16-bit elements, or NULL. */
static bool is_stored(const gemm *g);
static void widen(const gemm *g, const takt_gemm_piece *piece, elem *to);
static const uint16_t *half_at(const gemm *g, size_t at);
static bool reads_half(const gemm *g);
static bool is_bf16(const gemm *g);
static size_t widened_elems(const gemm *g);

static const takt_panels widths = {WIDE, NARROW};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Columns of this product, from its first, that lie in wide panels. */
static size_t wide_columns(const gemm *g)
{
    const size_t wide = WIDE * takt_panels_wide(widths, g->b_n);
    return wide < g->b_first ? 0 : least(wide - g->b_first, g->n);
}

/* Whether B, in its stored form, comes from beyond the caches. */
static bool is_far(const gemm *g)
{
    const size_t size = is_stored(g) ? sizeof(uint16_t) : sizeof(elem);
    return g->n * g->k >= FAR_BYTES / size || (g->walk && g->walk->is_far);
}

#include "kernel/gemm_f32/low_rows.h"

#include "kernel/gemm_f32/block_sizes.h"

#include "kernel/gemm_f32/one_row.h"

typedef struct block {
    size_t row, rows, p, k; /* this block of A; p is its first k */
    size_t col, cols;       /* these columns of C */
    size_t wide;            /* of C's columns lie in wide panels */
    size_t most;            /* rows of a strip */
    size_t panels;          /* of a tile */
    size_t a_column;        /* elements of packed A for one k; 0: there is one chunk */
    elem *sums;             /* [strip][tile][height][width]; only an edge's if k is one chunk */
    elem *widened;          /* [panel][k][width] of this chunk, or of one tile; NULL: B is f32 */
    bool in_place;
    bool is_far; /* B is read once, and tiles prefetch it */
} block;

#include "kernel/gemm_f32/pack_block.h"

/* Whether the epilogue can be done in registers; else it is done on rows in L1. */
static bool in_registers(const epilogue *e)
{
    return e->act != TAKT_GEMM_ACT_LEAKY &&
           !(e->residual && e->residual_last && e->act != TAKT_GEMM_ACT_NONE);
}

/* One strip of a block, over one chunk of k. */
typedef struct strip {
    size_t p, k; /* the chunk's first k in the block, and its length */
    size_t row, rows;
    const elem *a;
    elem *sums;                    /* of the next tile */
    size_t whole;                  /* columns before this one are in whole panels */
    bool is_first, is_end;         /* of all k; the block's last chunk */
    bool resumes;                  /* sums that an earlier block of k left in C */
    const epilogue *epilogue;      /* in registers, or NULL */
    const elem *ahead, *ahead_end; /* the part of B after this one, as far as not prefetched */
    size_t share;                  /* that a tile prefetches */
    size_t line;                   /* bytes from one request to the next */
} strip;

static void fuse(tile_job *t, const epilogue *e, size_t row, size_t col)
{
    t->bias = e->bias ? e->bias + col : NULL;
    t->residual = e->residual ? e->residual + row * e->residual_stride + col : NULL;
    t->residual_stride = e->residual_stride;
    t->act = e->act;
    t->lo = e->lo;
    t->hi = e->hi;
}

#include "kernel/gemm_f32/edge_tile.h"
#include "kernel/gemm_f32/widened.h"
#ifdef RUNS
#include "kernel/gemm_f32/tile_run.h"
#endif

/* Of a tile, `left` columns before the end: two panels twice rather than three and one. */
static size_t tile_columns(const block *o, size_t left, size_t panel)
{
    const size_t most = PANELS == 3 ? o->panels : PANELS;
    const bool is_even = most == 3 && left > 3 * panel && left <= 4 * panel;
    return least(left, (is_even ? 2 : most) * panel);
}

/* All tiles of a strip. */
static void strip_of_tiles(const gemm *g, const block *o, strip *s)
{
    const size_t end = o->col + o->cols;
    const size_t chunk = (o->p + s->p) * takt_panels_columns(widths, g->b_n);
    tile_job t = {.a = s->a,
                  .a_row = o->in_place ? g->a_row : 0,
                  .b = o->widened ? o->widened : g->b + chunk + (g->b_first + o->col) * s->k,
                  .k = s->k,
                  .ahead = s->a,
                  .is_far = o->is_far};
    elem *c = g->c + s->row * g->ldc + o->col;
    s->whole = end;
    for (size_t col = o->col, cols; col < end; col += cols, c += cols, t.b += cols * s->k) {
        const size_t panel = col < o->wide ? WIDE : NARROW;
#ifdef RUNS
        cols = run_of_tiles(g, o, s, &t, col);
        if (cols > 0)
            continue;
#endif
        cols = tile_columns(o, end - col, panel);
        t.b_panel = panel * s->k;
        if (o->widened)
            t.b = widened_at(g, o, s, col, round_up(cols, panel));
        if (!MASKED && cols % panel != 0) {
            s->whole = col;
            edge_tile(g, s, &t, c, cols, round_up(cols, panel));
            return;
        }
        if (s->epilogue)
            fuse(&t, s->epilogue, s->row, col);
        t.c = s->is_end ? c : s->sums;
        t.ldc = s->is_end ? g->ldc : cols;
        t.sum = s->is_first ? NULL : s->resumes ? c : s->sums;
        t.sum_ld = s->resumes ? g->ldc : cols;
        t.ahead_step = s->ahead < s->ahead_end ? s->line : 0;
        t.ahead = s->ahead < s->ahead_end ? s->ahead : t.b;
        if (t.ahead_step)
            s->ahead += s->share;
        if (o->widened && s->row == o->row)
            ask_stored(g, o, s, col + cols, &t);
        t.cols = cols;
        tile(s->rows, round_up(cols, panel), &t);
        if (g->k > CHUNK)
            s->sums += s->rows * cols;
    }
}

/* The rest of the epilogue that was not done in registers, and the tail. */
static void finish_strip(const gemm *g, const block *o, const strip *s)
{
    const epilogue *e = g->epilogue;
    const size_t from = s->epilogue ? s->whole : o->col;
    elem *c = g->c + s->row * g->ldc;
    for (size_t i = 0; from < o->col + o->cols && i < s->rows; i++)
        finish_row(e, c + i * g->ldc + from, s->row + i, from, o->col + o->cols - from);
    if (e->tail)
        e->tail(e->user, c + o->col, g->ldc, s->row, o->col, s->rows, o->cols);
}

/* While strips after the first read this part of B from L2, the next part is brought there. */
static void look_ahead(const gemm *g, const block *o, strip *s)
{
    enum { LEAST = CHUNK / QUAD * 64 / sizeof(elem) }; /* what a tile prefetches */
    const bool more = s->p + CHUNK < o->k, wider = o->col + o->cols < g->n;
    const size_t strips = (o->rows + o->most - 1) / o->most, width = o->panels * WIDE;
    const size_t tiles = (o->cols + width - 1) / width;
    if (strips < 2 || s->k < CHUNK || (!more && !wider) || o->widened ||
        (g->walk && g->walk->asks_nothing))
        return;
    const size_t p = o->p + (more ? s->p + CHUNK : 0), col = o->col + (more ? 0 : o->cols);
    const size_t k = least(o->p + o->k - p, CHUNK);
    const size_t count = k * least(o->cols, g->n - col), share = count / (tiles * (strips - 1));
    s->ahead = g->b + p * takt_panels_columns(widths, g->b_n) + (g->b_first + col) * k;
    s->ahead_end = s->ahead + count;
    s->line = g->walk && g->walk->line > 0 ? g->walk->line : 64;
    s->ahead += g->walk ? least(g->walk->skip * s->line / sizeof(elem), count) : 0;
    s->share = share > LEAST ? share : LEAST;
}

#ifdef RUNS
#include "kernel/gemm_f32/low_block.h"
#endif
#ifdef BELOW
#include "kernel/gemm_f32/tiles_below.h"
#endif

/* One block of columns: every chunk of this block of k. */
static void columns_of_block(const gemm *g, const block *o)
{
    const epilogue *e = g->epilogue && in_registers(g->epilogue) ? g->epilogue : NULL;
    for (size_t p = 0; p == 0 || p < o->k; p += CHUNK) {
        const bool is_last = o->p + p + CHUNK >= g->k;
        strip s = {.p = p,
                   .k = least(o->k - p, CHUNK),
                   .a = g->scratch + p * o->a_column,
                   .sums = o->sums,
                   .is_first = o->p + p == 0,
                   .is_end = p + CHUNK >= o->k,
                   .resumes = p == 0 && o->p > 0,
                   .epilogue = is_last ? e : NULL};
#ifdef RUNS
        if (is_low(g, o->rows)) {
            if (takt_poll_stops(g->poll))
                return;
            panels_of_chunk(g, o, &s, is_last);
            continue;
        }
#endif
        for (size_t i = 0; i < o->rows; i += s.rows) {
            /* Short strips are not worth a look each. */
            if ((i == 0 || s.k * o->cols >= LOOK_ELEMS) && takt_poll_stops(g->poll))
                return;
            s.row = o->row + i;
            s.rows = strip_rows(o->rows - i, o->most);
            if (o->in_place)
                s.a = g->a + s.row * g->a_row + o->p + p;
            strip_of_tiles(g, o, &s);
            s.a += strip_elems(s.rows, s.k);
            if (i == 0)
                look_ahead(g, o, &s);
            if (is_last && g->epilogue)
                finish_strip(g, o, &s);
        }
    }
}

/* Whether B is read once, and its tiles prefetch it. Some processors load data from L3 faster
 * without a prefetch, but not data from L2. */
static bool asks_far(const gemm *g)
{
    const size_t size = sizeof(elem), count = g->n * g->k;
    const bool is_near = count <= ASKS_NEAR / size && count > ASKS_NEAR / size / 8;
    const bool comes_far = count + 1 > ASKS_FAR / size || (g->walk && g->walk->is_far);
    return ASKS_FAR > 0 && (is_near || comes_far) && !is_stored(g) && g->m <= tallest(g) &&
           !(g->walk && g->walk->asks_nothing);
}

static void block_of_rows(const gemm *g, size_t row, size_t rows)
{
    const size_t columns = block_columns(g, rows), height = rows_in_place(g);
    block o = {.row = row,
               .rows = rows,
               .wide = wide_columns(g),
               .most = height > 0 ? height : tallest(g),
               .panels = tile_panels(g),
               .sums = g->scratch + packed_a(g),
               .in_place = height > 0,
               .is_far = asks_far(g)};
    if (is_stored(g))
        o.widened = g->scratch + scratch_bytes(g) / sizeof(elem) -
                    round_up(widened_elems(g), 64 / sizeof(elem));
    do {
        o.k = least(g->k - o.p, k_block(g));
        if (!o.in_place)
            pack_block(g, &o);
        for (o.col = 0; o.col < g->n; o.col += o.cols) {
            o.cols = least(g->n - o.col, columns);
            if (o.col + o.cols > o.wide)
                o.cols = g->n - o.col; /* at most two panels are narrow */
            columns_of_block(g, &o);
        }
        o.p += k_block(g);
    } while (o.p < g->k && !takt_poll_stops(g->poll));
}

static void run(const gemm *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    if (g->m == 1) {
        one_row(g);
        return;
    }
#ifdef RUNS
    if (is_all_below(g)) {
        all_below(g);
        return;
    }
#endif
#ifdef BELOW
    if (is_small(g)) {
        small(g);
        return;
    }
#endif
    for (size_t row = 0, rows; row < g->m && !takt_poll_stops(g->poll); row += rows) {
        rows = rows_now(g, g->m - row);
        block_of_rows(g, row, rows);
    }
}
