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
enum { B_BYTES = 1024 << 10, DEEP = 4096 };

#define IMAGE_IN_PLACE
#define WALKS_ITSELF
#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_bf16/blocked.inc"

#include "kernel/gemm_bf16/round512.inc"

#include "kernel/simd/amx.inc"

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

#include "kernel/gemm_bf16/turned_amx.inc"

/* To [k / 32][rows][32], padded both ways: zeros add nothing. A tile is one piece of memory. */
static void pack_strip(const takt_gemm_f32 *g, const float *a, size_t rows, size_t k, uint16_t *to)
{
    const size_t all = round_up(rows, 16), step = all * PIECE;
    if (g->a_row == 1 && g->a_col > 1) {
        pack_turned(g, a, rows, k, to);
        return;
    }
    for (size_t r = 0; r < all; r++)
        for (size_t p = 0; p < k; p += PIECE)
            _mm512_storeu_si512(to + p / PIECE * step + r * PIECE,
                                r < rows ? piece_of(g, a + r * g->a_row, p, k)
                                         : _mm512_setzero_si512());
}

#include "kernel/gemm_bf16/blocked_amx.inc"

#include "kernel/gemm_bf16/image_amx.inc"

#include "kernel/gemm_bf16/row512.inc"

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

/* Rows from which partly empty tiles beat f16 vectors (bench/notes/gemm-16-bits.md). */
enum { F16_ROWS = 8, F16_ROWS_NEAR = 2 };

static const takt_gemm_bf16_info info = {
    {MR, {WIDE, NARROW}, scratch_of_any, 0, 0}, GROUP, CHUNK, PIECE, F16_ROWS, F16_ROWS_NEAR};

TAKT_KERNELS(gemm_bf16, TAKT_KERNEL(gemm_bf16, "amx_32x32", 40, run_any, &info));
