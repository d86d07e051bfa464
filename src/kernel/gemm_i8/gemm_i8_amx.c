/* gemm_i8_amx.c - tiles of 32 x 32 in AMX: four sums of 16 x 16, 64 values of k a step.
 *
 * p16x4 is the layout that the matrix unit wants for B. Sums stay in their tiles over all of k: A
 * comes from L2, packed so that a tile is one piece, and B, once it has been read, from L1 or L2.
 * The process must have been allowed to use the tile registers, which detecting the ISA does.
 */
#include "kernel/gemm_i8/direct.h"

#include "kernel/gemm_i8/finish_x86.inc"
#include "kernel/gemm_i8/requant.inc"
#include "kernel/simd/amx.inc"

enum { ROWS = 16, STEP = 64, TILE = ROWS * STEP, MR = 2 * ROWS, NR = 32 };
enum { A_BYTES = 768 << 10, A_NEAR = 48 << 10, B_NEAR = 24 << 10 };
enum { FEW = 64, FEW_K = 256 }; /* columns, and k of those that are not read from images */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- scratch: packed A, B's last step, sums of tiles, sums of A's rows ---- */

/* One and two of finish_amx.inc's. */
enum { TILE_SUMS = MR * NR * 4 + 512, SUMS_BYTES = 2 * TILE_SUMS };

/* As much of A as stays in L2; less next to a small B, which is soon read again. */
static size_t block_rows(const takt_gemm_i8 *g)
{
    const size_t k = round_up(g->k, STEP), is_near = k * round_up(g->n, NR) <= B_NEAR;
    const size_t fit = (is_near ? A_NEAR : A_BYTES) / (k + 1) / MR * MR;
    return least(round_up(g->m, ROWS), fit < MR ? MR : fit);
}

static size_t a_bytes(const takt_gemm_i8 *g)
{
    return block_rows(g) * round_up(g->k, STEP);
}

/* Whether an image has channels that fill no tile of A. */
static bool is_few(const takt_gemm_i8 *g)
{
    return g->image != NULL && (g->image->channels % STEP != 0 || g->image->run > 0);
}

/* Products that are faster by vectors: of one row, which a tile would multiply with fifteen rows of
 * zeros; of one step of k, and of few columns, for which A is not worth packing. */
static bool is_small(const takt_gemm_i8 *g)
{
    return g->image == NULL && (g->m == 1 || g->k <= STEP || (g->n <= FEW / 2 && g->k <= FEW_K));
}

/* A small A in whole steps is read in place: its last rows by a tile that ends with them. */
static bool reads_a(const takt_gemm_i8 *g)
{
    enum { MOST_ROWS = 2 * MR, MOST_LINE = 512 }; /* of a line: so that tiles lie in few pages */
    return g->k % STEP == 0 && g->m >= ROWS && g->m <= MOST_ROWS && g->k <= MOST_LINE;
}

/* Fewer than sixteen rows are packed; more rows never need less room. */
static size_t last_at(const takt_gemm_i8 *g)
{
    return reads_a(g) ? ROWS * g->k : a_bytes(g);
}

static size_t sums_at(const takt_gemm_i8 *g)
{
    return last_at(g) + (g->k % STEP == 0 ? 0 : 2 * TILE);
}

/* Sums of a tile wait only for those of another one. */
static size_t row_sums_at(const takt_gemm_i8 *g)
{
    return sums_at(g) + (g->m <= MR ? TILE_SUMS : SUMS_BYTES);
}

static size_t packed_bytes(const takt_gemm_i8 *g)
{
    return row_sums_at(g) + round_up(block_rows(g) * sizeof(uint32_t), 64);
}

static size_t scratch_bytes(const takt_gemm_i8 *g)
{
    if (g->m == 0 || g->n == 0)
        return 0;
    if (is_small(g))
        return takt_gemm_i8_vnni_bytes(g);
    if (is_few(g))
        return 0;
    if (g->image != NULL)
        return SUMS_BYTES + round_up(g->m * sizeof(uint32_t), 64);
    return packed_bytes(g);
}

typedef struct block {
    const takt_gemm_i8 *g;
    size_t row, rows, col, cols;
    uint32_t shift;
    size_t steps;           /* of 64 values of k, in all */
    size_t whole;           /* steps that B has in full */
    char *last;             /* two tiles of B, completed with zeros, if whole < steps */
    struct tile_sums *sums; /* two of them, or one for a single tile of rows */
    uint32_t *row_sums;
    bool reads_a;   /* in place */
    bool is_direct; /* C receives the sums themselves */
} block;

/* ---- packing ---- */

/* Sixteen rows of A to [steps][16][64]; zeros where there is nothing. */
static void pack_strip(const takt_gemm_i8 *g, size_t row, size_t rows, char *to)
{
    const size_t steps = (g->k + STEP - 1) / STEP;
    for (size_t r = 0; r < ROWS; r++) {
        const char *from = (const char *)g->a + (row + (r < rows ? r : 0)) * g->a_row;
        for (size_t i = 0; i < steps; i++) {
            const size_t left = r < rows ? g->k - i * STEP : 0;
            const __mmask64 mask = left >= STEP ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
            _mm512_store_si512(to + i * TILE + r * STEP,
                               _mm512_maskz_loadu_epi8(mask, from + i * STEP));
        }
    }
}

static void pack_block(const block *o)
{
    const takt_gemm_i8 *g = o->g;
    for (size_t i = 0; !o->reads_a && i < o->rows; i += ROWS)
        pack_strip(g, o->row + i, least(o->rows - i, ROWS),
                   (char *)g->scratch + i * o->steps * STEP);
    for (size_t i = 0; g->b_zero && i < o->rows; i++)
        o->row_sums[i] = sum_of_row(g, o->row + i);
}

static const char *panel(const block *o, size_t index)
{
    return (const char *)o->g->b + (o->col / 16 + index) * o->g->b_panel;
}

static void complete_b(const block *o)
{
    if (o->whole == o->steps)
        return;
    const size_t bytes = round_up(o->g->k, 4) * 16 - o->whole * TILE;
    memset(o->last, 0, 2 * TILE);
    memcpy(o->last, panel(o, 0) + o->whole * TILE, bytes);
    if (o->cols > 16)
        memcpy(o->last + TILE, panel(o, 1) + o->whole * TILE, bytes);
}

#define INLINE static inline __attribute__((always_inline))

#include "kernel/gemm_i8/finish_amx.inc"

_Static_assert(sizeof(tile_sums) <= TILE_SUMS, "there is room for the sums of a tile");

/* ---- tiles ---- */

/* The columns of a block, and how their sums are finished. */
typedef struct tiles_of {
    const block *o;
    constants f;
} tiles_of;

/* The address of the first of some steps of one tile; from one line of A's tiles and from one of
 * its steps to the next. */
typedef struct part {
    const char *a, *a_next, *b, *b_next;
    size_t steps, a_line, a_step;
} part;

/* The row of A that the tile of row `at` begins with, if A is read in place. */
static size_t row_of_tile(const block *o, size_t at)
{
    return o->reads_a ? least(at, o->g->m - ROWS) : at;
}

/* The step that is loaded; then `next` is loaded, if there is one. */
INLINE void step(bool has_next, tile_step next, bool a_unsigned, const bool two_rows,
                 const bool two_panels)
{
    if (has_next && a_unsigned)
        TILES_MULTIPLY_LOADED(_tile_dpbusd, true, next, two_rows, two_panels);
    else if (has_next)
        TILES_MULTIPLY_LOADED(_tile_dpbssd, true, next, two_rows, two_panels);
    else if (a_unsigned)
        TILES_MULTIPLY_LOADED(_tile_dpbusd, false, next, two_rows, two_panels);
    else
        TILES_MULTIPLY_LOADED(_tile_dpbssd, false, next, two_rows, two_panels);
}

INLINE void product(const tiles_of *w, const part *p, tile_sums *late, const bool two_rows,
                    const bool two_panels)
{
    const size_t rows = late->count / (w->o->steps + 1) + 1;
    tile_step o = {p->a, p->a_next, p->b, p->b_next, p->a_line, STEP};
    if (p->steps > 0)
        TILES_LOAD(o, two_rows, two_panels);
    for (size_t i = 1; i <= p->steps; i++) {
        o = (tile_step){
            o.a + p->a_step, o.a_next + p->a_step, o.b + TILE, o.b_next + TILE, p->a_line, STEP};
        step(i < p->steps, o, w->o->g->a_unsigned, two_rows, two_panels);
        finish_waiting(w->o, &w->f, late, rows);
    }
}

static part part_of_tile(const block *o, size_t first, bool two_panels)
{
    const char *a = o->g->scratch, *b = panel(o, 0), *b_next = panel(o, two_panels);
    if (!o->reads_a) {
        a += first * o->steps * STEP;
        return (part){a, a + o->steps * TILE, b, b_next, o->whole, STEP, TILE};
    }
    a = o->g->a;
    const size_t row = o->g->a_row;
    return (part){a + row_of_tile(o, first) * row,
                  a + row_of_tile(o, first + ROWS) * row,
                  b,
                  b_next,
                  o->whole,
                  row,
                  STEP};
}

/* All of k of a tile, and the sums that wait. */
INLINE void tile_fixed(const tiles_of *w, size_t first, tile_sums *late, const bool two_rows,
                       const bool two_panels)
{
    const block *o = w->o;
    part p = part_of_tile(o, first, two_panels);
    const char *a = p.a;
    tiles_clear();
    TILES_WRITTEN(a);
    product(w, &p, late, two_rows, two_panels);
    if (o->whole < o->steps) {
        const size_t at = o->whole * TILE;
        p = (part){a + at, p.a_next + at, o->last, o->last + TILE, 1, STEP, TILE};
        product(w, &p, late, two_rows, two_panels);
    }
    finish_waiting(o, &w->f, late, MR);
}

/* ---- blocks ---- */

static void set_rows(const block *o, tile_sums *s, size_t first, size_t rows)
{
    s->done = 0;
    s->count = rows;
    for (size_t i = 0; i < rows; i++) {
        const size_t at = first + i / ROWS * ROWS;
        s->from[i] = (uint8_t)(i + at - row_of_tile(o, at));
        s->to[i] = first + i;
    }
}

/* All rows of a block by up to two panels. */
static void columns_of_block(const block *o)
{
    const takt_gemm_i8 *g = o->g;
    tiles_of w = {.o = o};
    constants_of(o, &w.f);
    const bool two_panels = o->cols > 16;
    size_t buffer = 0;
    complete_b(o);
    o->sums[0].count = o->sums[o->rows > MR].count = 0;
    for (size_t i = 0, rows; i < o->rows; i += MR) {
        rows = least(o->rows - i, MR);
        const bool two_rows = rows > ROWS;
        TILES_CALL(tile_fixed, two_rows, two_panels, &w, i, &o->sums[buffer ^ (o->rows > MR)]);
        if (o->is_direct && rows % ROWS == 0 && o->cols % 16 == 0) {
            int32_t *c = (int32_t *)g->c + (o->row + i) * g->ldc + o->col;
            tiles_store(c, g->ldc * sizeof *c, two_rows, two_panels);
            continue;
        }
        tile_sums *now = &o->sums[buffer];
        tiles_store(now->at, sizeof now->at[0], two_rows, two_panels);
        set_rows(o, now, i, rows);
        buffer ^= o->rows > MR;
    }
    finish_waiting(o, &w.f, &o->sums[buffer ^ (o->rows > MR)], MR);
    requant_tail(g, o->row, o->col, o->rows, o->cols);
}

#include "kernel/gemm_i8/image_amx.inc"

static void run(const takt_gemm_i8 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    if (is_small(g)) {
        takt_gemm_i8_vnni(g);
        return;
    }
    if (is_few(g)) {
        takt_gemm_i8_direct(g);
        return;
    }
    if (g->image != NULL) {
        run_image(g);
        return;
    }
    char *scratch = g->scratch;
    block o = {.g = g,
               .shift = (uint32_t)g->a_zero,
               .steps = (g->k + STEP - 1) / STEP,
               .whole = g->k / STEP,
               .last = scratch + last_at(g),
               .sums = (tile_sums *)(void *)(scratch + sums_at(g)),
               .row_sums = (uint32_t *)(void *)(scratch + row_sums_at(g)),
               .reads_a = reads_a(g)};
    o.is_direct = g->requant->to == TAKT_REQUANT_I32 && !g->requant->bias && !g->b_zero && !o.shift;
    const size_t most = block_rows(g);
    tiles_begin();
    for (; o.row < g->m; o.row += o.rows) {
        o.rows = least(g->m - o.row, most);
        pack_block(&o);
        for (o.col = 0; o.col < g->n && !takt_poll_stops(g->poll); o.col += NR) {
            o.cols = least(g->n - o.col, NR);
            columns_of_block(&o);
        }
    }
    tiles_end();
}

static const takt_gemm_i8_info info = {
    .rows = MR,
    .columns = NR,
    .group = 4,
    .scratch_bytes = scratch_bytes,
    .image = STEP,
    .few_image = 4,
    .few = FEW,
    .reads_runs = true,
    .wants_unsigned = true,
};

TAKT_KERNELS(gemm_i8, TAKT_KERNEL(gemm_i8, "amx_32x32", 50, run, &info));
