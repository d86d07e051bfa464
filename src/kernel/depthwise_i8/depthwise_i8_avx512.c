/* depthwise_i8_avx512.c - sixteen channels in one vector of 32-bit sums. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include <immintrin.h>

#include "kernel/gemm_i8/finish_x86.inc"
#include "kernel/gemm_i8/requant.h"

#define BLOCK 16
#define HALF 8
#define FEW_BYTES
#define REQUANT_ONLY_FLOATS
static void column(const takt_depthwise_i8 *d, size_t c);
static bool takes_halves(const takt_depthwise_i8 *d);
static void half(const takt_depthwise_i8 *d, size_t c);

#include "kernel/depthwise_i8/depthwise_i8_body.inc"
#include "kernel/depthwise_i8/walk.inc"
#include "kernel/depthwise_i8/x86_taps.inc"

/* Values below 2^15 in 32 bits each: a tap and its neighbour share them, so vpmaddwd adds both. */
INLINE __m512i widened(const spot x[2], size_t k, size_t c, const bool x_unsigned,
                       const bool is_half)
{
    const __m128i bytes = tap(x, k, c, is_half);
    return x_unsigned ? _mm512_cvtepu8_epi32(bytes) : _mm512_cvtepi8_epi32(bytes);
}

INLINE __m512i wide_weights(const int16_t *w, const bool is_half)
{
    return _mm512_cvtepi16_epi32(weights(w, is_half));
}

/* Low half of each lane from a, high half from b. */
INLINE __m512i paired(__m512i a, __m512i b)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaa, a, _mm512_slli_epi32(b, 16));
}

INLINE sums_16 add_taps(const takt_depthwise_i8 *d, const spot x[2], size_t c, sums_16 s,
                        const bool x_unsigned, const bool is_half)
{
    const int16_t *w = d->w + c;
    __m512i sums = s.at[0];
    size_t k = 0;
    for (; k + 2 <= d->taps; k += 2, w += 2 * d->channels) {
        const __m512i values = paired(widened(x, k, c, x_unsigned, is_half),
                                      widened(x, k + 1, c, x_unsigned, is_half));
        sums = _mm512_add_epi32(
            sums, _mm512_madd_epi16(values, paired(wide_weights(w, is_half),
                                                   wide_weights(w + d->channels, is_half))));
    }
    if (k < d->taps)
        sums = _mm512_add_epi32(sums, _mm512_mullo_epi32(widened(x, k, c, x_unsigned, is_half),
                                                         wide_weights(w, is_half)));
    return (sums_16){{sums}};
}

#include "kernel/depthwise_i8/x86_column.inc"

void takt_requant_row_avx512(const takt_gemm_i8 *g, const uint32_t *x, size_t row, size_t col,
                             size_t n)
{
    requant_scaled(g, x, row, col, n);
}

void takt_depthwise_i8_pairs(const takt_depthwise_i8 *d)
{
    run(d);
}

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "avx512", 20, run, NULL));
