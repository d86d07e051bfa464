/* round512.h - sixteen floats to bf16, half to even, as takt_bf16_round does; and a row of them. */
#include <immintrin.h>

static inline __m256i rounded(__m512 x)
{
    const __m512i bits = _mm512_castps_si512(x), top = _mm512_srli_epi32(bits, 16);
    const __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i near =
        _mm512_mask_or_epi32(_mm512_srli_epi32(up, 16), nan, top, _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(near);
}

/* Values [p, p + 16) of a row of k, zeros beyond its end. */
static inline __m256i sixteen_of(const takt_gemm_f32 *g, const float *a, size_t p, size_t k)
{
    const size_t left = k - p;
    if (g->a_col == 1) {
        const __mmask16 there = left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
        return rounded(_mm512_maskz_loadu_ps(there, a + p));
    }
    float part[16] = {0};
    for (size_t q = 0; q < 16 && q < left; q++)
        part[q] = a[(p + q) * g->a_col];
    return rounded(_mm512_loadu_ps(part));
}
