/* narrow_avx512.h - exact sums to bytes, sixteen at a time: requant.h's `scaled` and `narrow`. */
/* Sixteen scaled sums, those of the mask, to c. */
static inline __attribute__((always_inline)) void narrow_sixteen(const takt_requant *q, __m512 y,
                                                                 uint8_t *c, __mmask16 some)
{
    const __m512 lo = _mm512_set1_ps((float)(q->lo - q->zero)),
                 hi = _mm512_set1_ps((float)(q->hi - q->zero));
    const __mmask16 known = _mm512_cmp_ps_mask(y, y, _CMP_ORD_Q);
    const __m512 kept = _mm512_min_ps(_mm512_max_ps(_mm512_maskz_mov_ps(known, y), lo), hi);
    const __m512i r = _mm512_add_epi32(_mm512_cvtps_epi32(kept), _mm512_set1_epi32(q->zero));
    _mm512_mask_cvtepi32_storeu_epi8(c, some, r);
}
