/* depthwise_i8_avx2.c - sixteen channels at a time, two taps at a time by vpmaddwd. */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include <immintrin.h>

#include "kernel/gemm_i8/finish_x86.inc"

#define BLOCK 16
#define HALF 8
#define FEW_BYTES
#define REQUANT_ROW takt_requant_row_avx2
static void column(const takt_depthwise_i8 *d, size_t c);
static bool takes_halves(const takt_depthwise_i8 *d);
static void half(const takt_depthwise_i8 *d, size_t c);

#include "kernel/depthwise_i8/depthwise_i8_body.inc"
#include "kernel/depthwise_i8/walk.inc"
#include "kernel/depthwise_i8/x86_taps.inc"

INLINE __m256i widened(const spot x[2], size_t k, size_t c, const bool x_unsigned,
                       const bool is_half)
{
    const __m128i bytes = tap(x, k, c, is_half);
    return x_unsigned ? _mm256_cvtepu8_epi16(bytes) : _mm256_cvtepi8_epi16(bytes);
}

/* Channels [c, c + 16) of what x[taps] points to; lanes of 128 bits are put in order at the end. */
INLINE sums_16 add_taps(const takt_depthwise_i8 *d, const spot x[2], size_t c, sums_16 s,
                        const bool x_unsigned, const bool is_half)
{
    __m256i low = _mm256_setzero_si256(), high = low;
    const int16_t *w = d->w + c;
    for (size_t k = 0; k < d->taps; k += 2, w += 2 * d->channels) {
        const bool two = k + 1 < d->taps;
        const __m256i x0 = widened(x, k, c, x_unsigned, is_half), w0 = weights(w, is_half);
        const __m256i x1 = two ? widened(x, k + 1, c, x_unsigned, is_half) : _mm256_setzero_si256();
        const __m256i w1 = two ? weights(w + d->channels, is_half) : _mm256_setzero_si256();
        low = _mm256_add_epi32(
            low, _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1), _mm256_unpacklo_epi16(w0, w1)));
        high = _mm256_add_epi32(
            high, _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1), _mm256_unpackhi_epi16(w0, w1)));
    }
    return add_sums(s, (sums_16){{_mm256_permute2x128_si256(low, high, 0x20),
                                  _mm256_permute2x128_si256(low, high, 0x31)}});
}

#include "kernel/depthwise_i8/x86_column.inc"

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "avx2", 10, run, NULL));
