/* vnni.h - levels by vpdpbusd, which takes them unsigned as they are. A part of AVX-512 variants,
 * before body.h. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { DISTANT = 4, MR = 4 };
#define LEVEL_SHIFT(bits) 0

typedef const int8_t *act;

static inline act act_load(const int8_t *p)
{
    return p;
}

static inline __attribute__((always_inline)) __m512i levels(__m512i word, const unsigned bits,
                                                            const unsigned j)
{
    if (bits == 8)
        return word;
    return _mm512_and_si512(_mm512_srli_epi32(word, bits * j),
                            _mm512_set1_epi8((char)((1U << bits) - 1)));
}

static inline __attribute__((always_inline)) __m512i dot4(__m512i sum, __m512i level, act a,
                                                          const int lane, const unsigned bits)
{
    int32_t four;
    (void)bits;
    memcpy(&four, a + 4 * lane, sizeof four);
    return _mm512_dpbusd_epi32(sum, level, _mm512_set1_epi32(four));
}
