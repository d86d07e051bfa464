/* product_bf16_bf16.c - products of bf16 rows by bfmmla.
 *
 * Rows are packed by pairs, a block at a time. A few weights stay in L1 together with a small
 * block; of many, one panel stays there while a large block streams past it from L2.
 */
#include "kernel/product_bf16/product_bf16.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/product_bf16/tile.inc"

enum { CHUNK = 1024, A_FAR = 192 << 10 };
enum { ROWS_MAX = 30 * MR };

TILE_FUNCTIONS(INIT, ROWS)
TILE_FUNCTIONS(INIT, SUMS)

static void tile_rows(size_t pairs, size_t cols, const tile_job *t)
{
    static tile_fn *const by_pairs[2][4] = TILE_TABLE(tile_INIT_ROWS);
    by_pairs[cols == WIDE][pairs - 1](t);
}

static void tile_sums(size_t pairs, size_t cols, const tile_job *t)
{
    static tile_fn *const by_pairs[2][4] = TILE_TABLE(tile_INIT_SUMS);
    by_pairs[cols == WIDE][pairs - 1](t);
}

static const takt_panels widths = {WIDE, NARROW};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- packing ---- */

static uint64_t four_of(const uint16_t *x, size_t left)
{
    uint64_t four = 0;
    if (left >= GROUP)
        memcpy(&four, x, sizeof four);
    else
        memcpy(&four, x, left * sizeof *x);
    return four;
}

/* Eight rows: adjacent results are written together. */
static void pack_eight(const uint16_t *a, size_t a_row, size_t k, uint16_t *to)
{
    for (size_t p = 0; p + 8 <= k; p += 8, to += 8 * MR)
        for (size_t r = 0; r < MR / 2; r++) {
            const uint16_t *x = a + 2 * r * a_row + p;
            const uint64x2_t c = vreinterpretq_u64_u16(vld1q_u16(x)),
                             d = vreinterpretq_u64_u16(vld1q_u16(x + a_row));
            vst1q_u16(to + 8 * r, vreinterpretq_u16_u64(vzip1q_u64(c, d)));
            vst1q_u16(to + 8 * r + 4 * MR, vreinterpretq_u16_u64(vzip2q_u64(c, d)));
        }
}

/* To [k / 4][rows / 2][2][4]; an odd last row is paired with itself. */
static void pack_strip(const uint16_t *a, size_t a_row, size_t rows, size_t k, uint16_t *to)
{
    const size_t pairs = (rows + 1) / 2, step = 8 * pairs;
    const size_t done = rows == MR ? k / 8 * 8 : 0;
    if (rows == MR)
        pack_eight(a, a_row, k, to);
    for (size_t r = 0; r < pairs; r++) {
        const uint16_t *x = a + 2 * r * a_row, *y = 2 * r + 1 < rows ? x + a_row : x;
        uint16_t *out = to + 8 * r + done / 4 * step;
        size_t p = done;
        for (; p + 8 <= k; p += 8, out += 2 * step) {
            const uint64x2_t c = vreinterpretq_u64_u16(vld1q_u16(x + p)),
                             d = vreinterpretq_u64_u16(vld1q_u16(y + p));
            vst1q_u16(out, vreinterpretq_u16_u64(vzip1q_u64(c, d)));
            vst1q_u16(out + step, vreinterpretq_u16_u64(vzip2q_u64(c, d)));
        }
        for (; p < k; p += GROUP, out += step) {
            const uint64_t pair[2] = {four_of(x + p, k - p), four_of(y + p, k - p)};
            memcpy(out, pair, sizeof pair);
        }
    }
}

/* ---- what sums begin with ---- */

/* The bias of one panel, as vectors of [b0 b1 b0 b1]. */
static void spread_bias(const takt_product_bf16 *g, float *to)
{
    const size_t columns = round_up(g->n, WIDE) + WIDE;
    memset(to, 0, 2 * columns * sizeof *to);
    for (size_t j = 0; g->bias != NULL && j < g->n; j++)
        to[j / 2 * 4 + j % 2] = to[j / 2 * 4 + 2 + j % 2] = g->bias[j];
}

/* Four columns of two rows of the residual, added to the bias, in the layout of the sums. */
static inline void put_four(uint16x4_t x, uint16x4_t y, const float *bias, float *to)
{
    const uint32x2_t c = vreinterpret_u32_u16(x), d = vreinterpret_u32_u16(y);
    const uint16x8_t both = vreinterpretq_u16_u32(vcombine_u32(vzip1_u32(c, d), vzip2_u32(c, d)));
    const uint16x8_t none = vdupq_n_u16(0);
    const float32x4_t first = vreinterpretq_f32_u16(vzip1q_u16(none, both)),
                      second = vreinterpretq_f32_u16(vzip2q_u16(none, both));
    vst1q_f32(to, vaddq_f32(first, vld1q_f32(bias)));
    vst1q_f32(to + 4, vaddq_f32(second, vld1q_f32(bias + 4)));
}

/* Rows [row, row + rows) by columns [col, col + width) of C. */
typedef struct area {
    size_t row, rows, col, width;
} area;

/* The residual of a tile, with the bias; columns that do not exist are zeros. */
static void add_residual(const takt_product_bf16 *g, const area *at, const float *bias, float *to)
{
    const size_t rows = at->rows, col = at->col, width = at->width;
    const size_t cols = least(width, g->n - col);
    const bool is_whole = cols == width && rows % 2 == 0;
    for (size_t i = 0; i < rows; i += 2, to += 2 * width) {
        uint16_t lines[2][WIDE] = {{0}};
        const uint16_t *x = g->residual + (at->row + i) * g->ldr + col, *y = x + g->ldr;
        if (!is_whole) {
            memcpy(lines[0], x, cols * sizeof *x);
            if (i + 1 < rows)
                memcpy(lines[1], y, cols * sizeof *y);
            x = lines[0];
            y = lines[1];
        }
        for (size_t j = 0; j < width; j += 4)
            put_four(vld1_u16(x + j), vld1_u16(y + j), bias + 2 * j, to + 2 * j);
    }
}

/* ---- blocking ---- */

typedef struct room {
    float *bias, *init;
    uint16_t *edge, *a;
} room;

static size_t block_rows(size_t n, size_t k)
{
    const size_t bytes = round_up(k + 1, GROUP) * sizeof(uint16_t);
    const size_t fit = A_FAR / bytes / MR * MR;
    (void)n;
    return fit < MR ? MR : least(fit, ROWS_MAX);
}

static size_t bias_bytes(size_t n)
{
    return round_up(2 * (round_up(n, WIDE) + WIDE) * sizeof(float), 64);
}

enum { INIT_BYTES = MR * WIDE * sizeof(float), EDGE_BYTES = MR * WIDE * sizeof(uint16_t) };

/* The far block is the larger one, so this grows with n, too. */
static size_t scratch_bytes(size_t m, size_t n, size_t k)
{
    const size_t bytes = round_up(k + 1, GROUP) * sizeof(uint16_t);
    const size_t fit = A_FAR / bytes / MR * MR;
    const size_t rows = least(round_up(m, MR), least(fit < MR ? MR : fit, ROWS_MAX));
    return bias_bytes(n) + INIT_BYTES + EDGE_BYTES + round_up(rows * bytes, 64);
}

static room cut_scratch(const takt_product_bf16 *g)
{
    char *at = g->scratch;
    room r = {.bias = (float *)(void *)at};
    at += bias_bytes(g->n);
    r.init = (float *)(void *)at;
    r.edge = (uint16_t *)(void *)(at + INIT_BYTES);
    r.a = (uint16_t *)(void *)(at + INIT_BYTES + EDGE_BYTES);
    return r;
}

/* More than one chunk of k: all but the last leave their sums in `init`. */
static void long_tile(const takt_product_bf16 *g, const tile_job *last, float *init, size_t pairs,
                      size_t width)
{
    const size_t all = takt_panels_columns(widths, g->b_n);
    const size_t column = (size_t)(last->b - g->b);
    tile_job t = *last;
    t.c = init;
    for (size_t p = 0;; p += CHUNK) {
        const size_t k = round_up(least(g->k - p, CHUNK), GROUP);
        t.a = last->a + p * 2 * pairs;
        t.b = g->b + p * all + column * k;
        t.steps = k / GROUP;
        if (g->k - p <= CHUNK)
            break;
        tile_sums(pairs, width, &t);
        t.init = init;
        t.init_step = 2 * width * sizeof(float);
    }
    t.c = last->c;
    tile_rows(pairs, width, &t);
}

static void panel(const takt_product_bf16 *g, const room *r, size_t row, size_t rows, size_t col,
                  size_t width)
{
    const size_t cols = least(width, g->n - col), k = round_up(g->k, GROUP);
    const float ends[2] = {g->lo, g->hi};
    for (size_t i = 0, strips; i < rows; i += strips * MR) {
        const size_t height = least(rows - i, MR), pairs = (height + 1) / 2;
        const bool is_edge = cols < width || height % 2 != 0;
        uint16_t *c = g->c + (row + i) * g->ldc + col;
        tile_job t = {.a = r->a + i * k,
                      .b = g->b + (g->b_first + col) * (g->k > CHUNK ? 1 : k),
                      .steps = k / GROUP,
                      .init = r->bias + 2 * col,
                      .c = is_edge ? r->edge : c,
                      .ldc = (is_edge ? width : g->ldc) * sizeof *c,
                      .ends = ends,
                      .strips = 1};
        strips =
            is_edge || g->residual != NULL || g->k > CHUNK || rows - i < MR ? 1 : (rows - i) / MR;
        t.strips = strips;
        if (g->residual != NULL) {
            const area at = {row + i, height, col, width};
            add_residual(g, &at, r->bias + 2 * col, r->init);
            t.init = r->init;
            t.init_step = 2 * width * sizeof(float);
        }
        if (g->k > CHUNK)
            long_tile(g, &t, r->init, pairs, width);
        else
            tile_rows(pairs, width, &t);
        for (size_t q = 0; is_edge && q < height; q++)
            memcpy(c + q * g->ldc, r->edge + q * width, cols * sizeof *c);
    }
}

static void run(const takt_product_bf16 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    const room r = cut_scratch(g);
    const size_t most = block_rows(g->n, g->k), wide = WIDE * takt_panels_wide(widths, g->b_n);
    spread_bias(g, r.bias);
    for (size_t row = 0, rows; row < g->m; row += rows) {
        rows = least(g->m - row, most);
        for (size_t i = 0; i < rows; i += MR)
            pack_strip(g->a + (row + i) * g->a_row, g->a_row, least(rows - i, MR), g->k,
                       r.a + i * round_up(g->k, GROUP));
        for (size_t col = 0, width; col < g->n; col += width) {
            width = g->b_first + col < wide ? WIDE : NARROW;
            panel(g, &r, row, rows, col, width);
        }
    }
}

static const takt_product_bf16_info info = {
    {{MR, {WIDE, NARROW}, NULL, 0, 0}, GROUP, CHUNK, 0, 0, 0}, scratch_bytes};

TAKT_KERNELS(product_bf16, TAKT_KERNEL(product_bf16, "bf16_8x12", 20, run, &info));
