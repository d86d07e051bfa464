/* block_i8_i8mm.c - tiles of 6 x 8 by smmla: two rows by two columns by eight k each.
 *
 * Levels of a panel are spread to bytes once for all rows, a piece of k at a time that stays in L1,
 * as [k / 8][8 pairs of columns][2][8]; scales and zero points with them, as each pair of columns
 * wants them: [block][8][d0 d1 d0 d1]. Packed A has two rows in a vector, up to three pairs in
 * a strip: [k / 8][pairs][2][8]. Sums of floats wait in scratch, in the order of smmla. For few
 * rows nothing is spread (mm_few.inc). A single row is left to sdot, which wastes nothing on a
 * second one, or, by 8 bits, multiplied by usdot.
 */
#include "kernel/block_i8/block_i8.h"

enum { DISTANT = 2, MR = 4 };

#include "kernel/block_i8/arm.inc"

#include "kernel/block_i8/body.inc"

#define LEFT_TO takt_unit_block_i8_dotprod
#include "kernel/block_i8/left.inc"

#include "kernel/block_i8/usdot.inc"

#include "kernel/block_i8/tile.inc"

#include "kernel/block_i8/spread.inc"

#include "kernel/block_i8/mm_tile.inc"

#include "kernel/block_i8/mm_pair.inc"

#include "kernel/block_i8/mm_few.inc"

typedef struct mm_job {
    strip a;
    piece *b;
    float *acc;          /* [8 pairs of columns][pairs][4] */
    size_t from, blocks; /* of the piece: its first block, and how many */
    size_t block, deep;
    bool small, plain, first; /* first: sums begin here */
} mm_job;

/* Four pairs of columns of one block, `steps` times eight k: s += A * B. */
FIXED void mm_sums(const int8_t *q, const int8_t *b, size_t steps, int32x4_t (*s)[HALF],
                   const size_t pairs)
{
    for (size_t k = 0; k < steps; k++, q += 16 * pairs, b += 128) {
        int8x16_t x[PAIRS];
        UNROLL for (size_t r = 0; r < pairs; r++) x[r] = vld1q_s8(q + 16 * r);
        UNROLL for (size_t j = 0; j < HALF; j++)
        {
            const int8x16_t y = vld1q_s8(b + 16 * j);
            UNROLL for (size_t r = 0; r < pairs; r++) s[r][j] = vmmlaq_s32(s[r][j], x[r], y);
        }
    }
}

/* acc += (scale * dx) * sums. */
FIXED void mm_combine(int32x4_t (*s)[HALF], const float (*scale)[4], const float *dx, float *acc,
                      const bool small, const size_t pairs)
{
    float32x4_t x[PAIRS];
    UNROLL for (size_t r = 0; r < pairs; r++) x[r] = vld1q_f32(dx + 4 * r);
    UNROLL for (size_t j = 0; j < HALF; j++)
    {
        const float32x4_t y = vld1q_f32(scale[j]);
        UNROLL for (size_t r = 0; r < pairs; r++)
        {
            float *to = acc + (j * pairs + r) * 4;
            vst1q_f32(to,
                      vfmaq_f32(vld1q_f32(to), vmulq_f32(y, x[r]), sum_as_float(s[r][j], small)));
        }
    }
}

/* `plain`: small sums and one zero point for all. */
FIXED void mm_half(const mm_job *t, size_t half, const size_t pairs)
{
    const mm_job o = *t; /* as far as gcc knows, stores of vectors may change *t */
    const int32x4_t base = vdupq_n_s32(o.small ? MAGIC_BITS : 0);
    const int8_t *q = o.a.q + o.from * o.block * 2 * pairs, *b = o.b->bytes + 64 * half;
    const float *dx = o.a.dx + o.from * pairs * 4;
    const int32_t *sum = o.a.sum + o.from * pairs * 4;
    float *acc = o.acc + half * HALF * pairs * 4;
    if (o.first)
        memset(acc, 0, HALF * pairs * 16);
    for (size_t i = 0, k = o.from * o.block; i < o.blocks; i++, k += o.block) {
        const size_t steps = (least(k + o.block, o.deep) - k) / 8;
        int32x4_t s[PAIRS][HALF];
        UNROLL for (size_t r = 0; r < pairs; r++)
        {
            const int32x4_t y = vld1q_s32(sum + 4 * r);
            UNROLL for (size_t j = 0; j < HALF; j++) s[r][j] =
                o.plain ? y : vmlsq_s32(base, y, vld1q_s32(o.b->zero[i][half * HALF + j]));
        }
        mm_sums(q, b, steps, s, pairs);
        mm_combine(s, o.b->scale[i] + half * HALF, dx, acc, o.small, pairs);
        q += steps * 16 * pairs;
        b += steps * 128;
        dx += 4 * pairs;
        sum += 4 * pairs;
    }
}

/* Three pairs of rows by a panel, half of it at a time. */
static void mm_full(const mm_job *t)
{
    const mm_job o = *t;
    const size_t at = o.from * PAIRS * 4, end = least((o.from + o.blocks) * o.block, o.deep);
    if (o.first)
        memset(o.acc, 0, 2 * HALF * PAIRS * 16);
    for (size_t j = 0; j < 8; j += HALF)
        mm_tile(&(mm_blocks){.q = o.a.q + o.from * o.block * 2 * PAIRS,
                             .b = o.b->bytes + 16 * j,
                             .sum = o.a.sum + at,
                             .zero = o.plain ? NULL : o.b->zero[0][j],
                             .scale = o.b->scale[0][j],
                             .dx = o.a.dx + at,
                             .steps = o.block / 16,
                             .left = (end - o.from * o.block) / 16},
                o.acc + j * PAIRS * 4);
}

/* One or two pairs of rows by a panel, a pair at a time. */
static void mm_rest(const mm_job *t)
{
    const mm_job o = *t;
    const size_t pairs = o.a.pairs, at = o.from * pairs * 4;
    const size_t end = least((o.from + o.blocks) * o.block, o.deep);
    if (o.first)
        memset(o.acc, 0, 8 * pairs * 16);
    for (size_t r = 0; r < pairs; r++)
        mm_pair(&(mm_blocks){.q = o.a.q + o.from * o.block * 2 * pairs + 16 * r,
                             .b = o.b->bytes,
                             .sum = o.a.sum + at + 4 * r,
                             .zero = o.plain ? NULL : o.b->zero[0][0],
                             .scale = o.b->scale[0][0],
                             .dx = o.a.dx + at + 4 * r,
                             .steps = o.block / 16,
                             .left = (end - o.from * o.block) / 16},
                o.acc + 4 * r, 16 * pairs);
}

static void mm_strip(const mm_job *t)
{
    if (t->small && t->a.pairs == PAIRS) {
        mm_full(t);
        return;
    }
    if (t->small) {
        mm_rest(t);
        return;
    }
    for (size_t half = 0; half < 2; half++)
        if (t->a.pairs == 3)
            mm_half(t, half, 3);
        else if (t->a.pairs == 2)
            mm_half(t, half, 2);
        else
            mm_half(t, half, 1);
}

/* ---- scratch ---- */

/* Rows at a time, an even number. */
static size_t mm_rows(const takt_block_i8 *g)
{
    const size_t fit = A_BYTES / (takt_blocks_deep(g->b.k) + 1) / STRIP_ROWS * STRIP_ROWS;
    return round_up(least(g->m, fit < STRIP_ROWS ? STRIP_ROWS : fit), 2);
}

/* Where each begins, in bytes: sums, two rows and a piece in scratch; rounded rows after them or
 * elsewhere. */
typedef struct places {
    size_t row, piece, own;  /* sums lie at 0 */
    size_t dx, sum, rounded; /* bytes of rows lie at 0 */
} places;

/* `rows` of A, and what else a thread needs for as many as it takes at a time. */
static places places_of(const takt_block_i8 *g, size_t rows)
{
    const size_t deep = takt_blocks_deep(g->b.k), count = takt_blocks_count(&g->b);
    places p = {.row = round_up(round_up(mm_rows(g), STRIP_ROWS) * 64, 64)};
    p.piece = p.row + round_up(2 * (deep + count * 8), 64);
    p.own = p.piece + round_up(sizeof(piece), 64);
    p.dx = round_up(rows * deep, 64);
    p.sum = p.dx + round_up(rows * count * 8, 64);
    p.rounded = p.sum + round_up(rows * count * 8, 64);
    return p;
}

/* Two rows, quantised, to their place in a strip. */
static void add_pair(const takt_block_i8 *g, const places *p, size_t row, size_t rows,
                     const strip *s, size_t pair)
{
    const size_t deep = takt_blocks_deep(g->b.k), count = takt_blocks_count(&g->b);
    float *dx = (float *)(void *)((char *)g->scratch + p->row);
    int32_t *sum = (int32_t *)(dx + 2 * count);
    int8_t *q = (int8_t *)(sum + 2 * count), *to = (int8_t *)(uintptr_t)s->q + 16 * pair;
    float *to_dx = (float *)(uintptr_t)s->dx + 4 * pair;
    int32_t *to_sum = (int32_t *)(uintptr_t)s->sum + 4 * pair;
    const bool plain = is_plain(&g->b);
    const int32_t start = MAGIC_BITS, level = (int32_t)g->b.level - LEVEL_SHIFT(g->b.bits);
    memset(dx, 0, 2 * (deep + count * 8));
    for (size_t r = 0; r < rows; r++)
        block_quantise(&g->b, g->a + (row + r) * g->a_row, q + r * deep, dx + r * count,
                       sum + r * count);
    for (size_t k = 0; k < deep / 8; k++)
        vst1q_s8(to + k * 16 * s->pairs,
                 vcombine_s8(vld1_s8(q + 8 * k), vld1_s8(q + deep + 8 * k)));
    for (size_t i = 0; i < count * s->pairs; i += s->pairs, dx++, sum++) {
        const float x[4] = {dx[0], dx[0], dx[count], dx[count]};
        const int32_t even = plain ? start - level * sum[0] : sum[0];
        const int32_t odd = plain ? start - level * sum[count] : sum[count];
        const int32_t y[4] = {even, even, odd, odd};
        memcpy(to_dx + 4 * i, x, sizeof x);
        memcpy(to_sum + 4 * i, y, sizeof y);
    }
}

/* Strip number `index` of `rows` rounded rows at `at`: all but the last are equal. */
static strip strip_of(const takt_block_i8 *g, const places *p, const char *at, size_t index,
                      size_t rows)
{
    const size_t deep = takt_blocks_deep(g->b.k), count = takt_blocks_count(&g->b);
    const size_t pairs = strip_pairs(g), left = (rows - 2 * pairs * index + 1) / 2;
    return (strip){(const int8_t *)at + index * 2 * pairs * deep,
                   (const float *)(const void *)(at + p->dx) + index * count * pairs * 4,
                   (const int32_t *)(const void *)(at + p->sum) + index * count * pairs * 4,
                   least(left, pairs)};
}

/* Rows [first, end) of `count` that have separate places; the first of these is row `row`. */
typedef struct span {
    size_t row, first, end, count;
} span;

static void round_rows(const takt_block_i8 *g, const places *p, span o, char *to)
{
    const size_t pairs = strip_pairs(g);
    for (size_t r = o.first; r < o.end; r += 2) {
        const strip s = strip_of(g, p, to, r / 2 / pairs, o.count);
        add_pair(g, p, o.row + r, least(2, o.end - r), &s, r / 2 % pairs);
    }
}

/* ---- blocking ---- */

typedef struct mm_loop {
    const takt_block_i8 *g;
    places at;
    size_t row, rows, panel;
    const char *rounded;
    size_t first, count; /* of the rows there, the one that is `row`, and how many there are */
} mm_loop;

/* Four columns of a row: stored or added, and the bias. */
FIXED void put_four(const mm_loop *o, size_t row, size_t column, float32x4_t x, bool adds,
                    bool ends)
{
    const tile_job t = {.g = o->g};
    if (row < o->rows)
        put(&t, o->row + row, column, x, adds, ends);
}

/* Sums of a chunk of blocks to C. */
static void flush(const mm_loop *o, size_t index, size_t pairs, bool adds, bool ends)
{
    const float *acc = (const float *)o->g->scratch + index * 8 * PAIRS * 4;
    for (size_t r = 0; r < pairs; r++)
        for (size_t j = 0; j < 8; j += 2) {
            const float64x2_t x = vreinterpretq_f64_f32(vld1q_f32(acc + (j * pairs + r) * 4));
            const float64x2_t y = vreinterpretq_f64_f32(vld1q_f32(acc + ((j + 1) * pairs + r) * 4));
            const size_t row = STRIP_ROWS * index + 2 * r,
                         column = o->panel * TAKT_BLOCKS_PANEL + 2 * j;
            put_four(o, row, column, vreinterpretq_f32_f64(vzip1q_f64(x, y)), adds, ends);
            put_four(o, row + 1, column, vreinterpretq_f32_f64(vzip2q_f64(x, y)), adds, ends);
        }
}

static void one_piece(const mm_loop *o, mm_job *t)
{
    const takt_block_i8 *g = o->g;
    const size_t count = takt_blocks_count(&g->b), end = t->from + t->blocks;
    const size_t strips = (o->rows + STRIP_ROWS - 1) / STRIP_ROWS;
    const follower next = follower_of(&g->b, o->panel * count + end, t->blocks);
    for (size_t s = 0; s < strips; s++) {
        prefetch_follower(&next, s, strips);
        t->a = strip_of(g, &o->at, o->rounded, o->first / STRIP_ROWS + s, o->count);
        t->acc = (float *)g->scratch + s * 8 * PAIRS * 4;
        mm_strip(t);
        if (end == count || end % TAKT_GEMM_CHUNK == 0)
            flush(o, s, t->a.pairs, end > TAKT_GEMM_CHUNK, end == count);
    }
}

static void one_panel(const mm_loop *o)
{
    const takt_blocks *b = &o->g->b;
    piece *to = (piece *)(void *)((char *)o->g->scratch + o->at.piece);
    const size_t count = takt_blocks_count(b), most = PIECE / b->block;
    mm_job t = {.b = to,
                .block = b->block,
                .deep = takt_blocks_deep(b->k),
                .small = is_small(b),
                .plain = is_plain(b)};
    for (; t.from < count; t.from += t.blocks) {
        const size_t chunk_left = TAKT_GEMM_CHUNK - t.from % TAKT_GEMM_CHUNK;
        t.blocks = least(least(most, chunk_left), count - t.from);
        t.first = t.from % TAKT_GEMM_CHUNK == 0;
        spread(b, o->panel, t.from, t.blocks, to);
        one_piece(o, &t);
    }
}

#include "kernel/block_i8/few_run.inc"

TILE(far_8, 1, WIDTH, 8, PLAIN)
TILE(row_8, 1, VECTORS, 8, PLAIN)
TILE(far_8_f16, 1, WIDTH, 8, PLAIN_F16)
TILE(row_8_f16, 1, VECTORS, 8, PLAIN_F16)

static bool is_row_8(const takt_block_i8 *g)
{
    return g->m == 1 && g->b.bits == 8 && g->b.n > 0 && !g->b.zero && is_small(&g->b);
}

/* Rounded as sdot has it. */
static void run_row_8(const takt_block_i8 *g)
{
    char *at = g->rounded ? (char *)(uintptr_t)g->rounded : g->scratch;
    const rows_i8 a = rows_at(&g->b, at, 1, 0);
    tile_job t = {.g = g, .a = &a, .small = true};
    if (!g->rounded)
        quantise_rows(g, &a, 0, 1);
    if (g->b.scale_is_f16)
        one_row(&t, far_8_f16, row_8_f16);
    else
        one_row(&t, far_8, row_8);
}

/* sdot is best at four rows of levels that fill their bytes: it spreads nothing. */
static bool by_rows(const takt_block_i8 *g)
{
    return g->m < 2 || g->b.k == 0 ||
           (!by_few(g) && ((g->m == MR && g->b.bits > 2) || g->b.block > PIECE));
}

static void run(const takt_block_i8 *g)
{
    if (is_row_8(g) || by_rows(g) || by_few(g)) {
        (is_row_8(g) ? run_row_8 : by_rows(g) ? run_rows : run_few)(g);
        return;
    }
    const size_t most = mm_rows(g);
    mm_loop o = {.g = g, .at = places_of(g, g->rounded ? round_up(g->m, 2) : most)};
    char *own = (char *)g->scratch + o.at.own;
    o.rounded = g->rounded ? g->rounded : own;
    for (; o.row < g->m && !takt_poll_stops(g->poll); o.row += o.rows) {
        o.rows = least(most, g->m - o.row);
        o.first = g->rounded ? o.row : 0;
        o.count = g->rounded ? g->m : o.rows;
        if (!g->rounded)
            round_rows(g, &o.at, (span){o.row, 0, o.rows, o.rows}, own);
        for (o.panel = 0; o.panel < takt_blocks_panels(g->b.n) && !takt_poll_stops(g->poll);
             o.panel++)
            one_panel(&o);
    }
}

static size_t scratch_bytes(const takt_block_i8 *g)
{
    if (by_rows(g))
        return rows_scratch(g);
    const places p = places_of(g, by_few(g) ? round_up(g->m, 2) : mm_rows(g));
    return p.own + (g->rounded ? 0 : p.rounded);
}

static size_t rounded_bytes(const takt_block_i8 *g)
{
    return by_rows(g) ? rows_rounded_bytes(g) : places_of(g, round_up(g->m, 2)).rounded;
}

static void round_part(const takt_block_i8 *g, size_t part, size_t parts, void *rounded)
{
    if (by_rows(g) || by_few(g)) {
        (by_rows(g) ? rows_round : few_round)(g, part, parts, rounded);
        return;
    }
    const places p = places_of(g, round_up(g->m, 2));
    const size_t pairs = (g->m + 1) / 2, first = 2 * (pairs * part / parts);
    const span rows = {0, first, least(2 * (pairs * (part + 1) / parts), g->m), g->m};
    round_rows(g, &p, rows, rounded);
}

static const takt_block_i8_info info = {STRIP_ROWS, scratch_bytes, rounded_bytes, round_part};

TAKT_KERNELS(block_i8, TAKT_KERNEL(block_i8, "i8mm_6x8", 30, run, &info));
