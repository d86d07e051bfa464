/* gemm_bf16_amx.c - tiles of 32 x 32 in AMX: four sums of 16 x 16, 32 values of k a step.
 *
 * The process must have been allowed to use the tile registers, which detecting the ISA does.
 */
#include "kernel/gemm_bf16/gemm_bf16.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;
enum { WIDE = 32, NARROW = 16, MR = 32, GROUP = 2, PIECE = 32, CHUNK = 1024, A_BYTES = 1024 << 10 };
enum { B_BYTES = 1024 << 10, BY_PANELS = 1 };

#define IMAGE_IN_PLACE
#include "kernel/gemm_f32/epilogue.h"

#include "kernel/gemm_bf16/blocked.h"

#include "kernel/gemm_bf16/round512.h"

#include "kernel/simd/amx.h"

static void begin(void)
{
    tiles_begin();
}

static void end(void)
{
    tiles_end();
}

static size_t strip_elems(size_t rows, size_t k)
{
    return round_up(rows, 16) * round_up(k, PIECE);
}

/* Values [p, p + 32) of a row of k, zeros beyond its end. */
static inline __m512i piece_of(const takt_gemm_f32 *g, const float *a, size_t p, size_t k)
{
    if (g->a_col == 1 && k - p >= PIECE)
        return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(a + p + 16), _mm512_loadu_ps(a + p));
    const __m256i low = sixteen_of(g, a, p, k);
    const __m256i high = k - p > 16 ? sixteen_of(g, a, p + 16, k) : _mm256_setzero_si256();
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* To [k / 32][rows][32], padded both ways: zeros add nothing. A tile is one piece of memory. */
static void pack_strip(const takt_gemm_f32 *g, const float *a, size_t rows, size_t k, uint16_t *to)
{
    const size_t all = round_up(rows, 16), step = all * PIECE;
    for (size_t r = 0; r < all; r++)
        for (size_t p = 0; p < k; p += PIECE)
            _mm512_storeu_si512(to + p / PIECE * step + r * PIECE,
                                r < rows ? piece_of(g, a + r * g->a_row, p, k)
                                         : _mm512_setzero_si512());
}

/* Whole tiles of B: where they lie, and their number. */
typedef struct part {
    const uint16_t *a, *b;
    size_t steps;
} part;

static inline __attribute__((always_inline)) void product(const part *o, const bool two_rows,
                                                          const bool two_panels)
{
    enum { TILE = 16 * 64 };
    const size_t line = two_panels ? 128 : 64, a_step = two_rows ? 2 * TILE : TILE;
    const char *a = (const char *)o->a, *b = (const char *)o->b;
    for (size_t i = 0; i < o->steps; i++, a += a_step, b += 16 * line) {
        const tile_step now = {a, a + TILE, b, b + 64, 64, line};
        tiles_ask(b, 16 * line);
        TILES_MULTIPLY_PASSING(_tile_dpbf16ps, now, two_rows, two_panels);
    }
}

/* The k that fill no tile: B is completed with zeros. */
static inline __attribute__((always_inline)) void tile_fixed(const tile_job *t, const bool two_rows,
                                                             const bool two_panels)
{
    const size_t whole = t->steps / 16, rest = t->steps % 16, line = two_panels ? 64 : 32;
    product(&(part){t->a, t->b, whole}, two_rows, two_panels);
    if (rest) {
        uint16_t last[16 * 64] = {0};
        memcpy(last, t->b + whole * 16 * line, rest * line * sizeof *last);
        TILES_WRITTEN(last);
        const uint16_t *a = t->a + whole * PIECE * (two_rows ? MR : 16);
        product(&(part){a, last, 1}, two_rows, two_panels);
    }
}

/* Sums go straight to C where it has all rows of them, else through memory of their own: either way
 * what is in C is what they begin with. */
static void tile(size_t rows, size_t cols, const tile_job *t)
{
    const bool two_rows = rows > 16, two_panels = cols == WIDE, is_whole = rows % 16 == 0;
    float sums[MR][WIDE];
    float *c = is_whole ? t->c : sums[0];
    const size_t step = is_whole ? t->ldc * sizeof *c : sizeof sums[0];
    for (size_t r = 0; !is_whole && t->adds && r < MR; r++)
        memcpy(sums[r], t->c + (r < rows ? r : 0) * t->ldc, cols * sizeof *c);
    if (t->adds)
        tiles_load(c, step, two_rows, two_panels);
    else
        tiles_clear();
    TILES_WRITTEN(t->a);
    TILES_CALL(tile_fixed, two_rows, two_panels, t);
    tiles_store(c, step, two_rows, two_panels);
    for (size_t r = 0; !is_whole && r < rows; r++)
        memcpy(t->c + r * t->ldc, sums[r], cols * sizeof *c);
}

#include "kernel/gemm_bf16/image_amx.h"

#include "kernel/gemm_bf16/row512.h"

static void run_any(const takt_gemm_f32 *g)
{
    if (g->image != NULL)
        run_image(g);
    else if (is_one_row(g))
        run_row(g);
    else
        run(g);
}

static size_t scratch_of_any(const takt_gemm_f32 *g)
{
    return g->image != NULL ? 0 : scratch_bytes(g);
}

/* Rows from which tiles of which some are empty beat vectors of f16 (bench/NOTES.md). */
enum { F16_ROWS = 8, F16_ROWS_NEAR = 2 };

static const takt_gemm_bf16_info info = {
    {MR, {WIDE, NARROW}, scratch_of_any}, GROUP, CHUNK, PIECE, F16_ROWS, F16_ROWS_NEAR};

TAKT_KERNELS(gemm_bf16, TAKT_KERNEL(gemm_bf16, "amx_32x32", 40, run_any, &info));
