/* round512.h - sixteen floats to bf16, half to even, as takt_bf16_round does, except that subnormal
 * numbers become 0; and a row of them. */
#include <immintrin.h>

static inline __m256i rounded(__m512 x)
{
    return (__m256i)_mm512_cvtneps_pbh(x);
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
