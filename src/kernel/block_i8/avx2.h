/* avx2.h - the operations of body.h by vpmaddubsw. A part of AVX2 variants, before body.h.
 *
 * It saturates sums of two products beyond 32767, which levels of up to 6 bits never reach:
 * 2 * 63 * 127. Levels of 8 bits are widened to 16 first, even and odd bytes apart.
 */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LEVEL_SHIFT(bits) 0

typedef const int8_t *act;

static inline act act_load(const int8_t *p)
{
    return p;
}

static inline __attribute__((always_inline)) __m256i levels(__m256i word, const unsigned bits,
                                                            const unsigned j)
{
    if (bits == 8)
        return word;
    return _mm256_and_si256(_mm256_srli_epi32(word, (int)(bits * j)),
                            _mm256_set1_epi8((char)((1U << bits) - 1)));
}

static inline __attribute__((always_inline)) __m256i dot4(__m256i sum, __m256i level, act a,
                                                          const int lane, const unsigned bits)
{
    int32_t four;
    memcpy(&four, a + 4 * lane, sizeof four);
    const __m256i x = _mm256_set1_epi32(four);
    if (bits < 8)
        return _mm256_add_epi32(
            sum, _mm256_madd_epi16(_mm256_maddubs_epi16(level, x), _mm256_set1_epi16(1)));
    const __m256i even = _mm256_and_si256(level, _mm256_set1_epi16(255));
    const __m256i odd = _mm256_srli_epi16(level, 8);
    const __m256i x_even = _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8);
    const __m256i x_odd = _mm256_srai_epi16(x, 8);
    return _mm256_add_epi32(
        sum, _mm256_add_epi32(_mm256_madd_epi16(even, x_even), _mm256_madd_epi16(odd, x_odd)));
}
