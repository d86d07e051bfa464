/* body.h - rows of bytes by panels of levels, in vectors of sums: lane = column.
 *
 * A template: a variant defines
 *     DISTANT, MR      panels of one row, and rows of one panel, that are processed at once
 *     LEVEL_SHIFT(b)   what `levels` takes away from levels of b bits
 *     act, act_load    sixteen bytes of a row of A
 *     levels           part j of a vector of words, as bytes
 *     dot4             adds the products of four bytes of each lane and bytes 4 * lane .. of `act`
 * and includes this file. Sums begin at -zero * sum of the row's bytes, so that no zero
 * point is subtracted from a weight.
 */
#include "kernel/block_i8/quantise.h"

enum { VECTORS = TAKT_BLOCKS_PANEL / VF, WIDTH = DISTANT * VECTORS, A_BYTES = 512 << 10 };
#define FIXED static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Quantised rows, in scratch: bytes [rows][deep], dx [rows][count], sums [rows][count]. */
typedef struct rows_i8 {
    int8_t *q;
    float *dx;
    int32_t *sums;
    size_t deep, count; /* bytes of a row, blocks */
} rows_i8;

/* One row or more by one panel or more. */
typedef struct tile_job {
    const takt_block_i8 *g;
    const rows_i8 *a;
    size_t row, local;   /* the first, in C and in `a` */
    size_t panel, apart; /* the first, and from one to the next */
    bool small;          /* every dot product is below 2^22 */
} tile_job;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* An integer this far below the sum, read as a float, is 1.5 * 2^23 + the sum: one subtraction
 * where a conversion takes four times as long. */
#define MAGIC_BITS 0x4b400000
#define MAGIC 0x1.8p23F

FIXED vf sum_as_float(vi sum, bool small)
{
    return small ? vf_sub(vi_as_vf(sum), vf_set1(MAGIC)) : vf_from_vi(sum);
}

/* The shape of a tile: known where everything is inlined. Vector `u` is vector u % VECTORS of panel
 * u / VECTORS. */
typedef struct shape {
    size_t rows, vectors;
    unsigned bits;
    bool plain; /* small sums, f32 scales, one zero point: the common case, without checks */
} shape;

/* Where a tile has got to: bytes, words and parameters of the next block. */
typedef struct cursor {
    const int8_t *q[MR];
    const float *dx[MR];
    const int32_t *sums[MR];
    const uint32_t *w[DISTANT];
    const char *scale[DISTANT];
    const uint8_t *zero[DISTANT];
    int32_t level, shift;
} cursor;

FIXED cursor begin(const tile_job *t, size_t block, const shape f)
{
    const takt_blocks *b = &t->g->b;
    const rows_i8 *a = t->a;
    const size_t k = block * b->block;
    cursor o = {.shift = LEVEL_SHIFT(f.bits)};
    o.level = (int32_t)b->level - o.shift;
    UNROLL for (size_t p = 0; p < f.vectors / VECTORS; p++)
    {
        const size_t panel = t->panel + p * t->apart;
        const size_t at = (panel * a->count + block) * TAKT_BLOCKS_PANEL;
        o.w[p] =
            b->words + panel * takt_blocks_words(f.bits, a->deep) + takt_blocks_words(f.bits, k);
        o.scale[p] = (const char *)b->scale + at * (!f.plain && b->scale_is_f16 ? 2 : 4);
        o.zero[p] = f.plain || !b->zero ? NULL : b->zero + at;
    }
    UNROLL for (size_t r = 0; r < f.rows; r++)
    {
        const size_t row = t->local + r;
        o.q[r] = a->q + row * a->deep + k;
        o.dx[r] = a->dx + row * a->count + block;
        o.sums[r] = a->sums + row * a->count + block;
    }
    return o;
}

/* -zero * sum, from which a vector of sums begins. */
FIXED vi start(const cursor *o, size_t r, size_t u, bool small)
{
    const vi base = vi_set1(small ? MAGIC_BITS : 0);
    const uint8_t *zero = o->zero[u / VECTORS];
    if (!zero)
        return vi_sub(base, vi_set1(o->level * *o->sums[r]));
    const vi level = vi_sub(vi_load_u8(zero + u % VECTORS * VF), vi_set1(o->shift));
    return vi_sub(base, vi_mul(level, vi_set1(*o->sums[r])));
}

/* Vector u by sixteen bytes of each row. */
FIXED void vector_sums(const cursor *o, const act *x, size_t u, vi (*s)[WIDTH], const shape f)
{
    UNROLL for (unsigned i = 0; i < f.bits / 2; i++)
    {
        const uint32_t *w = o->w[u / VECTORS] + i * 16 + u % VECTORS * VF;
        const vi word = vi_load((const int32_t *)w);
        UNROLL for (unsigned j = 0; j < 8 / f.bits; j++)
        {
            const vi level = levels(word, f.bits, j);
            const int lane = (int)(i * (8 / f.bits) + j);
            UNROLL for (size_t r = 0; r < f.rows; r++) s[r][u] =
                dot4(s[r][u], level, x[r], lane, f.bits);
        }
    }
}

/* s[r][u] += levels * bytes over `steps` times sixteen k. */
FIXED void block_sums(cursor *o, size_t steps, vi (*s)[WIDTH], const shape f)
{
    for (size_t k = 0; k < steps; k++) {
        act x[MR];
        UNROLL for (size_t r = 0; r < f.rows; r++, o->q[r - 1] += 16) x[r] = act_load(o->q[r]);
#ifdef ROW_STEP_4
        const size_t done = f.rows == 1 && f.bits == 4 ? f.vectors : 0;
        UNROLL for (size_t u = 0; u < done; u += VECTORS)
            ROW_STEP_4(s[0] + u, o->w[u / VECTORS], x[0]);
#else
        const size_t done = 0;
#endif
        UNROLL for (size_t u = done; u < f.vectors; u++) vector_sums(o, x, u, s, f);
        UNROLL for (size_t p = 0; p < f.vectors / VECTORS; p++) o->w[p] += f.bits / 2 * 16;
    }
}

/* acc += (scale * dx) * sums, and on to the next block. */
FIXED void combine(cursor *o, vi (*s)[WIDTH], vf (*acc)[WIDTH], bool is_f16, bool small,
                   const shape f)
{
    UNROLL for (size_t u = 0; u < f.vectors; u++)
    {
        const char *from = o->scale[u / VECTORS];
        const size_t at = u % VECTORS * VF;
        const vf scale = is_f16 ? vf_load_f16((const uint16_t *)(const void *)from + at)
                                : vf_load((const float *)(const void *)from + at);
        UNROLL for (size_t r = 0; r < f.rows; r++)
        {
            const vf by = vf_mul(scale, vf_set1(*o->dx[r]));
            acc[r][u] = vf_fma(by, sum_as_float(s[r][u], small), acc[r][u]);
        }
    }
    UNROLL for (size_t p = 0; p < f.vectors / VECTORS; p++)
    {
        o->scale[p] += is_f16 ? 2 * TAKT_BLOCKS_PANEL : 4 * TAKT_BLOCKS_PANEL;
        o->zero[p] = o->zero[p] ? o->zero[p] + TAKT_BLOCKS_PANEL : NULL;
    }
    UNROLL for (size_t r = 0; r < f.rows; r++)
    {
        o->dx[r]++;
        o->sums[r]++;
    }
}

/* Blocks [from, to) of a tile, summed to `acc`. */
FIXED void chunk(const tile_job *t, size_t from, size_t to, vf (*acc)[WIDTH], const shape f)
{
    const takt_blocks *b = &t->g->b;
    const bool small = f.plain || t->small, is_f16 = !f.plain && b->scale_is_f16;
    const size_t block = b->block, deep = t->a->deep;
    cursor o = begin(t, from, f);
    for (size_t i = from; i < to; i++) {
        vi s[MR][WIDTH];
        UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
            s[r][u] = start(&o, r, u, small);
        block_sums(&o, (least((i + 1) * block, deep) - i * block) / 16, s, f);
        combine(&o, s, acc, is_f16, small, f);
    }
}

/* One vector to C: stored or added, and the bias. */
FIXED void put(const tile_job *t, size_t row, size_t column, vf x, bool adds, bool ends)
{
    const takt_block_i8 *g = t->g;
    if (column >= g->b.n)
        return;
    float *c = g->c + row * g->ldc + column;
    const float *bias = ends && g->bias ? g->bias + column : NULL;
    const size_t n = least(VF, g->b.n - column);
    if (n == VF) {
        x = adds ? vf_add(vf_load(c), x) : x;
        vf_store(c, bias ? vf_add(x, vf_load(bias)) : x);
    } else {
        x = adds ? vf_add(vf_load_n(c, n), x) : x;
        vf_store_n(c, bias ? vf_add(x, vf_load_n(bias, n)) : x, n);
    }
}

FIXED void tile_fixed(const tile_job *t, const shape f)
{
    size_t from = 0;
    do {
        const size_t to = least(from + TAKT_GEMM_CHUNK, t->a->count);
        vf acc[MR][WIDTH];
        UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
            acc[r][u] = vf_zero();
        chunk(t, from, to, acc, f);
        UNROLL for (size_t r = 0; r < f.rows; r++) UNROLL for (size_t u = 0; u < f.vectors; u++)
        {
            const size_t panel = t->panel + u / VECTORS * t->apart;
            put(t, t->row + r, panel * TAKT_BLOCKS_PANEL + u % VECTORS * VF, acc[r][u], from > 0,
                to == t->a->count);
        }
        from = to;
    } while (from < t->a->count);
}

/* The tiles there are: one row by DISTANT panels or by one, MR rows by one. */
#define TILE(name, rows, vectors, bits, plain)                                                     \
    static void name(const tile_job *t)                                                            \
    {                                                                                              \
        tile_fixed(t, (shape){rows, vectors, bits, plain});                                        \
    }
#define TILES(bits)                                                                                \
    TILE(far_##bits, 1, WIDTH, bits, false)                                                        \
    TILE(row_##bits, 1, VECTORS, bits, false)                                                      \
    TILE(rows_##bits, MR, VECTORS, bits, false)                                                    \
    TILE(plain_far_##bits, 1, WIDTH, bits, true)                                                   \
    TILE(plain_row_##bits, 1, VECTORS, bits, true)                                                 \
    TILE(plain_rows_##bits, MR, VECTORS, bits, true)
TILES(2)
TILES(4)
TILES(8)

typedef void tile_fn(const tile_job *t);
enum { FAR, ROW, ROWS, KINDS };
#define NAMES(bits)                                                                                \
    {                                                                                              \
        {far_##bits, row_##bits, rows_##bits},                                                     \
        {                                                                                          \
            plain_far_##bits, plain_row_##bits, plain_rows_##bits                                  \
        }                                                                                          \
    }

static tile_fn *tile_of(const tile_job *t, int kind)
{
    static tile_fn *const all[3][2][KINDS] = {NAMES(2), NAMES(4), NAMES(8)};
    const takt_blocks *b = &t->g->b;
    return all[b->bits / 4][t->small && !b->zero && !b->scale_is_f16][kind];
}

/* One row: panels of DISTANT places at a time, since several streams are read faster than one. */
static void one_row(tile_job *t)
{
    const size_t panels = takt_blocks_panels(t->g->b.n), part = panels / DISTANT;
    enum { POLLED = 8 }; /* panels between two polls */
    t->apart = part;
    for (t->panel = 0; t->panel < part; t->panel++) {
        if (t->panel % POLLED == 0 && takt_poll_stops(t->g->poll))
            return;
        tile_of(t, FAR)(t);
    }
    for (t->panel = part * DISTANT; t->panel < panels; t->panel++) {
        if (t->panel % POLLED == 0 && takt_poll_stops(t->g->poll))
            return;
        tile_of(t, ROW)(t);
    }
}

/* Rows [t->row, + rows) of C, quantised. */
static void several_rows(tile_job *t, size_t rows)
{
    const size_t first = t->row;
    for (t->panel = 0; t->panel < takt_blocks_panels(t->g->b.n) && !takt_poll_stops(t->g->poll);
         t->panel++)
        for (t->local = 0; t->local < rows;) {
            const bool many = rows - t->local >= MR;
            t->row = first + t->local;
            tile_of(t, many ? ROWS : ROW)(t);
            t->local += many ? MR : 1;
        }
    t->row = first;
    t->local = 0;
}

static size_t block_rows(const takt_block_i8 *g)
{
    const size_t fit = A_BYTES / (takt_blocks_deep(g->b.k) + 1) / MR * MR;
    return least(g->m, fit < MR ? MR : fit);
}

static size_t rows_bytes(const takt_blocks *b, size_t rows)
{
    return round_up(rows * takt_blocks_deep(b->k), 64) +
           2 * round_up(rows * takt_blocks_count(b) * 4, 64);
}

static size_t rows_scratch(const takt_block_i8 *g)
{
    return g->rounded ? 0 : rows_bytes(&g->b, block_rows(g));
}

/* Rows from `first` on of `rows` at `at`. */
static rows_i8 rows_at(const takt_blocks *b, char *at, size_t rows, size_t first)
{
    const size_t count = takt_blocks_count(b), deep = takt_blocks_deep(b->k);
    char *dx = at + round_up(rows * deep, 64), *sums = dx + round_up(rows * count * 4, 64);
    return (rows_i8){(int8_t *)at + first * deep, (float *)(void *)dx + first * count,
                     (int32_t *)(void *)sums + first * count, deep, count};
}

static bool is_small(const takt_blocks *b)
{
    return least(b->block, b->k) * 127 * ((1U << b->bits) - 1) < 1U << 22;
}

static void quantise_rows(const takt_block_i8 *g, const rows_i8 *a, size_t row, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        block_quantise(&g->b, g->a + (row + r) * g->a_row, a->q + r * a->deep, a->dx + r * a->count,
                       a->sums + r * a->count);
}

static void run_rows(const takt_block_i8 *g)
{
    rows_i8 a = rows_at(&g->b, g->scratch, block_rows(g), 0);
    const size_t most = block_rows(g);
    tile_job t = {.g = g, .a = &a, .small = is_small(&g->b)};
    if (g->b.n == 0)
        return;
    for (size_t rows; t.row < g->m && !takt_poll_stops(g->poll); t.row += rows) {
        rows = least(most, g->m - t.row);
        if (g->rounded)
            a = rows_at(&g->b, (char *)(uintptr_t)g->rounded, g->m, t.row);
        else
            quantise_rows(g, &a, t.row, rows);
        if (rows == 1)
            one_row(&t);
        else
            several_rows(&t, rows);
    }
}

static size_t rows_rounded_bytes(const takt_block_i8 *g)
{
    return rows_bytes(&g->b, g->m);
}

static void rows_round(const takt_block_i8 *g, size_t part, size_t parts, void *rounded)
{
    const size_t first = g->m * part / parts, end = g->m * (part + 1) / parts;
    const rows_i8 to = rows_at(&g->b, rounded, g->m, first);
    quantise_rows(g, &to, first, end - first);
}
