/* product_bf16_amx.c - tiles of 32 x 32 in AMX, rows of A read in place.
 *
 * Sixteen rows of A are a tile as they lie in memory; rows are copied only where there are fewer,
 * or where k has no even part of at most 32 and nothing follows it. Sums stay in the tile registers
 * over all of k, and become results while the next ones are multiplied: with few channels that is
 * as much work as the products. The process must have been allowed to use the registers, which
 * detecting the ISA does.
 */
#include "kernel/product_bf16/product_bf16.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/simd/amx.inc"

enum { WIDE = 32, NARROW = 16, TILE = 16, MR = 32, GROUP = 2, PIECE = 32, CHUNK = 1024 };
enum { B_BYTES = 768 << 10 }; /* of weights that stay in L2 while all rows pass them */

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

/* One or two tiles of sixteen rows of A; sums[from[i]] is the result for row to[i]. */
typedef struct strip {
    const uint16_t *a, *a_next;
    size_t line; /* bytes from row to row */
    bool two_rows;
    size_t count;
    size_t from[MR], to[MR];
} strip;

/* Some columns of C: 32 or 16, or fewer at the end of n. */
typedef struct panel {
    size_t col, width;
    __mmask16 there[2]; /* columns that exist */
} panel;

typedef struct work {
    const takt_product_bf16 *g;
    size_t piece, steps; /* values of k in a tile, and tiles of k */
    size_t next;         /* elements of B from a chunk to the next */
    uint16_t *padded;    /* copied rows, followed by zeros */
    float (*sums)[MR][WIDE];
    size_t buffer; /* of the two sums */
    /* Partial sums, not yet results. */
    const strip *late;
    panel late_panel;
    size_t late_buffer, done;
} work;

/* ---- results ---- */

/* The epilogue of sixteen columns, those of the mask. max and min give their second operand if one
 * is NaN. */
INLINE __m512 ended(const takt_product_bf16 *g, __m512 x, size_t row, size_t col, __mmask16 there)
{
    if (g->bias != NULL)
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(there, g->bias + col));
    if (g->residual != NULL) {
        const __m256i y = _mm256_maskz_loadu_epi16(there, g->residual + row * g->ldr + col);
        x = _mm512_add_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(y), 16)));
    }
    return _mm512_min_ps(_mm512_set1_ps(g->hi), _mm512_max_ps(_mm512_set1_ps(g->lo), x));
}

/* One row of sums; all 32 columns, a line of memory, at once. */
INLINE void finish(const takt_product_bf16 *g, const panel *o, const float *sums, size_t row)
{
    const __mmask16 all = (__mmask16)0xffff;
    uint16_t *to = g->c + row * g->ldc + o->col;
    const __m512 low = ended(g, _mm512_loadu_ps(sums), row, o->col, o->there[0]);
    if (o->there[1] == 0) {
        _mm256_mask_storeu_epi16(to, o->there[0], (__m256i)_mm512_cvtneps_pbh(low));
        return;
    }
    const __m512 high = ended(g, _mm512_loadu_ps(sums + 16), row, o->col + 16, o->there[1]);
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(high, low);
    if (o->there[1] == all)
        _mm512_storeu_si512(to, both);
    else
        _mm512_mask_storeu_epi16(to, all | (__mmask32)o->there[1] << 16, both);
}

/* The next `rows` rows of the sums that wait. */
INLINE void finish_late(work *w, size_t rows)
{
    const strip *s = w->late;
    const size_t end = least(w->done + rows, s->count);
    for (; w->done < end; w->done++)
        finish(w->g, &w->late_panel, w->sums[w->late_buffer][s->from[w->done]], s->to[w->done]);
}

/* ---- products ---- */

/* Values of k from `a` on, whose rows of B are at `b`. */
INLINE tile_step step_at(const strip *s, size_t a, const uint16_t *b, const bool two_panels)
{
    const char *columns = (const char *)b;
    return (tile_step){
        (const char *)(s->a + a), (const char *)(s->a_next + a), columns, columns + 64, s->line,
        two_panels ? 128 : 64};
}

/* The current step; `next`, if there is one, is loaded after it. */
INLINE void step(bool has_next, tile_step next, const bool two_rows, const bool two_panels)
{
    if (has_next)
        TILES_MULTIPLY_LOADED(_tile_dpbf16ps, true, next, two_rows, two_panels);
    else
        TILES_MULTIPLY_LOADED(_tile_dpbf16ps, false, next, two_rows, two_panels);
}

/* The last k, less than a piece: B is completed with zeros, as A was. */
INLINE void last_step(const strip *s, size_t a, const uint16_t *b, size_t k, const bool two_rows,
                      const bool two_panels)
{
    const size_t line = two_panels ? 64 : 32;
    uint16_t right[TILE * 64] = {0};
    memcpy(right, b, round_up(k, GROUP) / GROUP * line * sizeof *right);
    TILES_WRITTEN(right);
    const tile_step now = step_at(s, a, right, two_panels);
    TILES_MULTIPLY(_tile_dpbf16ps, now, two_rows, two_panels);
}

INLINE void sums_of(work *w, const strip *s, const panel *o, const bool two_rows,
                    const bool two_panels)
{
    const takt_product_bf16 *g = w->g;
    const size_t line = two_panels ? 64 : 32, rows = (w->late->count + w->steps - 1) / w->steps;
    const uint16_t *b = g->b;
    for (size_t first = 0; first < g->k; first += CHUNK, b += w->next) {
        const size_t k = least(g->k - first, CHUNK);
        /* The offset of a panel in its chunk depends on the chunk's k. */
        const uint16_t *at = b + (g->b_first + o->col) * round_up(k, GROUP);
        size_t p = 0;
        tile_step now = step_at(s, first, at, two_panels);
        if (w->piece <= k)
            TILES_LOAD(now, two_rows, two_panels);
        for (size_t end; (end = p + w->piece) <= k; p = end) {
            at += w->piece / GROUP * line;
            now = step_at(s, first + end, at, two_panels);
            step(end + w->piece <= k, now, two_rows, two_panels);
            finish_late(w, rows);
        }
        if (p < k)
            last_step(s, first + p, at, k - p, two_rows, two_panels);
    }
}

#include "kernel/product_bf16/image_amx.inc"

/* All of k, and the results that waited; then these sums wait. */
static void multiply(work *w, const strip *s, const panel *o)
{
    const bool two_rows = s->two_rows, two_panels = o->width == WIDE;
    float(*sums)[WIDE] = w->sums[w->buffer];
    tiles_clear();
    if (w->g->image != NULL)
        TILES_CALL(sums_of_image, two_rows, two_panels, w, s, o);
    else
        TILES_CALL(sums_of, two_rows, two_panels, w, s, o);
    finish_late(w, MR);
    TILES_WRITTEN(sums);
    tiles_store(sums[0], sizeof sums[0], two_rows, two_panels);
    w->late = s;
    w->late_panel = *o;
    w->late_buffer = w->buffer;
    w->done = 0;
    w->buffer ^= 1;
}

/* ---- rows ---- */

static void add_rows(strip *s, size_t from, size_t to, size_t count)
{
    for (size_t i = 0; i < count; i++, s->count++) {
        s->from[s->count] = from + i;
        s->to[s->count] = to + i;
    }
}

static void copy_rows(const work *w, strip *s, size_t row, size_t rows)
{
    const takt_product_bf16 *g = w->g;
    const size_t step = round_up(g->k, PIECE);
    for (size_t r = 0; r < rows; r++) {
        uint16_t *to = w->padded + r * step;
        memcpy(to, g->a + (row + r) * g->a_row, g->k * sizeof *to);
        memset(to + g->k, 0, (step - g->k) * sizeof *to);
    }
    TILES_WRITTEN(w->padded);
    s->a = w->padded;
    s->a_next = s->a + TILE * step;
    s->line = step * sizeof *s->a;
    add_rows(s, 0, row, rows);
}

/* The strip that begins with `row`; returns its number of rows. The last tile ends with the last
 * row, and rows shared with the previous tile are not stored twice. */
static size_t set_rows(const work *w, strip *s, size_t row)
{
    const takt_product_bf16 *g = w->g;
    const size_t rows = least(g->m - row, MR);
    s->count = 0;
    s->two_rows = rows > TILE;
    if (g->m < TILE || (g->k % w->piece != 0 && !g->a_padded)) {
        copy_rows(w, s, row, rows);
        return rows;
    }
    const size_t first = least(row, g->m - TILE), next = least(row + TILE, g->m - TILE);
    s->a = g->a + first * g->a_row;
    s->a_next = g->a + next * g->a_row;
    s->line = g->a_row * sizeof *s->a;
    add_rows(s, row - first, row, least(rows, TILE));
    if (s->two_rows)
        add_rows(s, TILE + row + TILE - next, row + TILE, rows - TILE);
    return rows;
}

/* ---- all of it ---- */

/* Values of k in a tile: an even divisor of k, if that needs at most two more tiles. */
static size_t piece_of(size_t k)
{
    const size_t tiles = (k + PIECE - 1) / PIECE;
    for (size_t i = tiles; k <= CHUNK && i > 0 && i <= tiles + 2; i++)
        if (k % (GROUP * i) == 0)
            return k / i;
    return PIECE;
}

static size_t scratch_bytes(size_t m, size_t n, size_t k)
{
    (void)m;
    (void)n;
    return 2 * sizeof(float[MR][WIDE]) + MR * round_up(k, PIECE) * sizeof(uint16_t);
}

static __mmask16 mask_of(size_t columns)
{
    return columns >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << columns) - 1);
}

/* Columns [first, end) of a strip, panel by panel. */
static void row_of_panels(work *w, const strip *s, size_t first, size_t end)
{
    const takt_product_bf16 *g = w->g;
    const size_t wide = WIDE * takt_panels_wide(widths, g->b_n);
    for (panel o = {.col = first}; o.col < end; o.col += o.width) {
        const size_t left = g->n - o.col;
        o.width = g->b_first + o.col < wide ? WIDE : NARROW;
        o.there[0] = mask_of(left);
        o.there[1] = left > 16 && o.width == WIDE ? mask_of(left - 16) : 0;
        multiply(w, s, &o);
    }
}

static void run(const takt_product_bf16 *g)
{
    const size_t panels = B_BYTES / (WIDE * sizeof *g->b * (g->k + 1));
    const size_t block = WIDE * (panels > 0 ? panels : 1);
    const size_t rows = g->image != NULL ? positions_of(g) : g->m;
    strip strips[2] = {{.count = 0}};
    work w = {.g = g,
              .piece = piece_of(g->k),
              .next = CHUNK * takt_panels_columns(widths, g->b_n),
              .sums = g->scratch,
              .late = &strips[1]};
    if (g->m == 0 || g->n == 0)
        return;
    w.steps = g->k < w.piece ? 1 : g->k / w.piece;
    w.padded = (uint16_t *)(void *)(w.sums + 2);
    TILES_WRITTEN(g->image == NULL ? g->a : g->image->data);
    tiles_begin_with(w.piece / GROUP);
    for (size_t first = 0, at = 0; first < g->n; first += block)
        for (size_t row = 0; row < rows; at ^= 1) {
            row += g->image != NULL ? set_positions(&w, &strips[at], row)
                                    : set_rows(&w, &strips[at], row);
            row_of_panels(&w, &strips[at], first, least(first + block, g->n));
        }
    finish_late(&w, MR);
    tiles_end();
}

static const takt_product_bf16_info info = {
    {{MR, {WIDE, NARROW}, NULL, 0, 0}, GROUP, CHUNK, PIECE, 0, 0}, scratch_bytes};

TAKT_KERNELS(product_bf16, TAKT_KERNEL(product_bf16, "amx_32x32", 40, run, &info));
