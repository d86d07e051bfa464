/* gemm_bf16_avx512bf16.c - tiles of 14 x 32 by vdpbf16ps: sixteen columns by two k each. */
#include "kernel/gemm_bf16/gemm_bf16.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;
enum { WIDE = 32, NARROW = 16, MR = 14, GROUP = 2, PIECE = 16, CHUNK = 1024, A_BYTES = 768 << 10 };
enum { B_BYTES = 0, BY_PANELS = 0 };

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_bf16/blocked.inc"

#include "kernel/gemm_bf16/round512.inc"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

static void begin(void) {}

static void end(void) {}

static size_t strip_elems(size_t rows, size_t k)
{
    return rows * round_up(k, PIECE);
}

/* To [k / 2][rows][2]. */
static void pack_strip(const takt_gemm_f32 *g, const float *a, size_t rows, size_t k, uint16_t *to)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t p = 0; p < k; p += 16) {
            uint32_t pairs[8];
            uint16_t *out = to + (p / 2 * rows + r) * 2;
            _mm256_storeu_si256((__m256i *)(void *)pairs, sixteen_of(g, a + r * g->a_row, p, k));
            for (size_t q = 0; q < 8; q++)
                memcpy(out + q * rows * 2, &pairs[q], sizeof pairs[q]);
        }
}

/* [k / 2][rows][2] as well. */
static void pack_image(const takt_bf16_image *m, const strip *s, uint16_t *to)
{
    for (size_t r = 0; r < s->rows; r++)
        for (size_t p = 0, run; p < s->k; p += run) {
            const uint16_t *x = takt_bf16_image_at(m, s->row + r, s->p + p);
            uint16_t *out = to + (p / 2 * s->rows + r) * 2;
            run = least(m->channels - (s->p + p) % m->channels, s->k - p);
            for (size_t q = 0; q < run; q += 2, out += 2 * s->rows)
                memcpy(out, x + q, 2 * sizeof *out);
        }
}

INLINE void put(const tile_job *t, float *to, __m512 x)
{
    _mm512_storeu_ps(to, t->adds ? _mm512_add_ps(_mm512_loadu_ps(to), x) : x);
}

INLINE void tile_fixed(const tile_job *t, const size_t rows, const size_t vectors)
{
    __m512 acc[MR][2];
    const uint16_t *a = t->a, *b = t->b;
    UNROLL for (size_t r = 0; r < rows; r++) acc[r][0] = acc[r][1] = _mm512_setzero_ps();
    for (size_t s = 0; s < t->steps; s++, a += 2 * rows, b += 32 * vectors) {
        const __m512bh left = (__m512bh)_mm512_loadu_si512(b),
                       right = vectors == 2 ? (__m512bh)_mm512_loadu_si512(b + 32) : left;
        UNROLL for (size_t r = 0; r < rows; r++)
        {
            int32_t pair;
            memcpy(&pair, a + 2 * r, sizeof pair);
            const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
            acc[r][0] = _mm512_dpbf16_ps(acc[r][0], x, left);
            if (vectors == 2)
                acc[r][1] = _mm512_dpbf16_ps(acc[r][1], x, right);
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++)
    {
        put(t, t->c + r * t->ldc, acc[r][0]);
        if (vectors == 2)
            put(t, t->c + r * t->ldc + 16, acc[r][1]);
    }
}

#include "kernel/simd/heights.h"

HEIGHTS_1_TO_14(TILE)
HEIGHTS_1_TO_14(THIN)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    static void (*const by_rows[2][MR])(const tile_job *) = {{HEIGHTS_1_TO_14(THIN_NAME)},
                                                             {HEIGHTS_1_TO_14(TILE_NAME)}};
    by_rows[cols == WIDE][rows - 1](t);
}

#include "kernel/gemm_bf16/row512.inc"

static void run_any(const takt_gemm_f32 *g)
{
    if (is_one_row(g))
        run_row(g);
    else
        run(g);
}

static const takt_gemm_bf16_info info = {
    {MR, {WIDE, NARROW}, scratch_bytes, 0, 0}, GROUP, CHUNK, 2, 0, 0};

TAKT_KERNELS(gemm_bf16, TAKT_KERNEL(gemm_bf16, "avx512bf16_14x32", 30, run_any, &info));
