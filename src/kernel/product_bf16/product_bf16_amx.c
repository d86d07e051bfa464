/* product_bf16_amx.c - tiles of 32 x 32 in AMX, rows of A read where they lie.
 *
 * Sixteen rows of A are a tile as they lie in memory; only rows that are fewer are copied, and the
 * last k where they fill no tile. Sums stay in the tile registers over all of k. The process must
 * have been allowed to use them, which detecting the ISA does.
 */
#include "kernel/product_bf16/product_bf16.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/simd/amx.h"

enum { WIDE = 32, NARROW = 16, TILE = 16, MR = 32, GROUP = 2, PIECE = 32, CHUNK = 1024 };

static const takt_panels widths = {WIDE, NARROW};

#define INLINE static inline __attribute__((always_inline))

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Rows of A, 16 or 32 of them that may be read as a whole: `row` elements apart. */
typedef struct strip {
    const uint16_t *a;
    size_t row;
    bool two_rows, is_padded; /* padded: zeros follow up to a multiple of PIECE */
} strip;

/* The columns of a panel: 32 or 16. */
typedef struct panel {
    const uint16_t *b; /* of the first chunk */
    size_t next;       /* elements from a chunk to the next */
    size_t col, width;
} panel;

INLINE void step(const uint16_t *a, size_t a_bytes, const uint16_t *b, size_t line,
                 const bool two_rows, const bool two_panels)
{
    const char *rows = (const char *)a, *columns = (const char *)b;
    const tile_step now = {rows, rows + TILE * a_bytes, columns, columns + 64, a_bytes, line};
    TILES_MULTIPLY(_tile_dpbf16ps, now, two_rows, two_panels);
}

/* The last k, less than a piece: both factors completed with zeros. */
INLINE void last_step(const strip *s, size_t p, size_t k, const uint16_t *b, const bool two_rows,
                      const bool two_panels)
{
    const size_t line = two_panels ? 64 : 32, groups = (k + GROUP - 1) / GROUP;
    uint16_t left[MR * PIECE] = {0}, right[TILE * 64] = {0};
    memcpy(right, b, groups * line * sizeof *right);
    for (size_t r = 0; !s->is_padded && r < (two_rows ? MR : TILE); r++)
        memcpy(left + r * PIECE, s->a + r * s->row + p, k * sizeof *left);
    TILES_WRITTEN(left);
    TILES_WRITTEN(right);
    const uint16_t *a = s->is_padded ? s->a + p : left;
    step(a, (s->is_padded ? s->row : PIECE) * sizeof *a, right, line * sizeof *right, two_rows,
         two_panels);
}

INLINE void sums_of(const takt_product_bf16 *g, const strip *s, const panel *o, const bool two_rows,
                    const bool two_panels)
{
    const size_t line = two_panels ? 64 : 32, a_bytes = s->row * sizeof *s->a;
    const uint16_t *b = o->b;
    for (size_t first = 0; first < g->k; first += CHUNK, b += o->next) {
        const size_t k = least(g->k - first, CHUNK), whole = k / PIECE * PIECE;
        /* What lies before a panel in its chunk depends on the chunk's k. */
        const uint16_t *at = b + (g->b_first + o->col) * round_up(k, GROUP);
        for (size_t p = 0; p < whole; p += PIECE)
            step(s->a + first + p, a_bytes, at + p / GROUP * line, line * sizeof *at, two_rows,
                 two_panels);
        if (whole < k)
            last_step(s, first + whole, k - whole, at + whole / GROUP * line, two_rows, two_panels);
    }
}

static void multiply(const takt_product_bf16 *g, const strip *s, const panel *o,
                     float (*sums)[WIDE])
{
    const bool two_panels = o->width == WIDE;
    tiles_clear();
    TILES_CALL(sums_of, s->two_rows, two_panels, g, s, o);
    tiles_store(sums[0], sizeof sums[0], true, true);
}

/* Sixteen results of a row, those of the mask. max and min give their second operand if one is NaN.
 */
INLINE void finish(const takt_product_bf16 *g, __m512 x, size_t row, size_t col, __mmask16 there)
{
    if (g->bias != NULL)
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(there, g->bias + col));
    if (g->residual != NULL) {
        const __m256i y = _mm256_maskz_loadu_epi16(there, g->residual + row * g->ldr + col);
        x = _mm512_add_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(y), 16)));
    }
    x = _mm512_min_ps(_mm512_set1_ps(g->hi), _mm512_max_ps(_mm512_set1_ps(g->lo), x));
    _mm256_mask_storeu_epi16(g->c + row * g->ldc + col, there, (__m256i)_mm512_cvtneps_pbh(x));
}

INLINE void finish_row(const takt_product_bf16 *g, const panel *o, size_t row, const float *sums)
{
    const size_t cols = least(g->n - o->col, o->width);
    for (size_t j = 0; j < cols; j += 16) {
        const size_t left = cols - j;
        finish(g, _mm512_loadu_ps(sums + j), row, o->col + j,
               left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1));
    }
}

enum { SUMS_BYTES = MR * WIDE * sizeof(float) };

static size_t last_bytes(size_t k)
{
    return TILE * round_up(k, PIECE) * sizeof(uint16_t);
}

/* Sums, then the last rows. */
static size_t scratch_bytes(size_t m, size_t n, size_t k)
{
    (void)m;
    (void)n;
    return SUMS_BYTES + last_bytes(k);
}

static uint16_t *last_rows(const takt_product_bf16 *g)
{
    return (uint16_t *)(void *)((char *)g->scratch + SUMS_BYTES);
}

/* The last rows, fewer than a tile, as one with zeros around them. */
static void pack_last(const takt_product_bf16 *g, size_t first)
{
    const size_t row = round_up(g->k, PIECE);
    uint16_t *to = last_rows(g);
    memset(to, 0, last_bytes(g->k));
    for (size_t r = 0; first + r < g->m; r++)
        memcpy(to + r * row, g->a + (first + r) * g->a_row, g->k * sizeof *to);
    TILES_WRITTEN(to);
}

static void one_panel(const takt_product_bf16 *g, const panel *o)
{
    float(*sums)[WIDE] = g->scratch;
    for (size_t row = 0, rows; row < g->m; row += rows) {
        const size_t left = g->m - row;
        rows = left >= MR ? MR : least(left, TILE);
        strip s = {g->a + row * g->a_row, g->a_row, rows == MR, false};
        if (rows < TILE)
            s = (strip){last_rows(g), round_up(g->k, PIECE), false, true};
        multiply(g, &s, o, sums);
        for (size_t r = 0; r < rows; r++)
            finish_row(g, o, row + r, sums[r]);
    }
}

#include "kernel/product_bf16/image_amx.h"

static void run(const takt_product_bf16 *g)
{
    const size_t wide = WIDE * takt_panels_wide(widths, g->b_n);
    panel o = {.b = g->b, .next = CHUNK * takt_panels_columns(widths, g->b_n)};
    if (g->m == 0 || g->n == 0)
        return;
    if (g->image == NULL && g->m % TILE != 0)
        pack_last(g, g->m / TILE * TILE);
    TILES_WRITTEN(g->image == NULL ? g->a : g->image->data);
    tiles_begin();
    for (; o.col < g->n; o.col += o.width) {
        o.width = g->b_first + o.col < wide ? WIDE : NARROW;
        if (g->image != NULL)
            panel_of_image(g, &o);
        else
            one_panel(g, &o);
    }
    tiles_end();
}

static const takt_product_bf16_info info = {{{MR, {WIDE, NARROW}, NULL}, GROUP, CHUNK, PIECE, 0},
                                            scratch_bytes};

TAKT_KERNELS(product_bf16, TAKT_KERNEL(product_bf16, "amx_32x32", 40, run, &info));
