/* narrow_avx512.h - exact sums to bytes, sixteen at a time: requant.h's `scaled` and `narrow`. */
static bool is_narrow(const takt_gemm_i8 *g)
{
    return g->requant->to == TAKT_REQUANT_S8 || g->requant->to == TAKT_REQUANT_U8;
}

/* n sums of one row, to C[row, col...]. */
static void narrow_row(const takt_gemm_i8 *g, const uint32_t *x, size_t row, size_t col, size_t n)
{
    const takt_requant *q = g->requant;
    const __m512i zero = _mm512_set1_epi32(q->zero);
    const __m512 lo = _mm512_set1_ps((float)(q->lo - q->zero)),
                 hi = _mm512_set1_ps((float)(q->hi - q->zero));
    uint8_t *c = (uint8_t *)g->c + row * g->ldc + col;
    __m512 scale = _mm512_set1_ps(q->scale_per_column ? 0 : q->scale[0]);
    for (size_t j = 0; j < n; j += 16) {
        const __mmask16 some = (__mmask16)(n - j < 16 ? (1u << (n - j)) - 1 : 0xffff);
        if (q->scale_per_column)
            scale = _mm512_maskz_loadu_ps(some, q->scale + col + j);
        const __m512 y =
            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(some, x + j)), scale);
        const __mmask16 known = _mm512_cmp_ps_mask(y, y, _CMP_ORD_Q);
        const __m512 kept = _mm512_min_ps(_mm512_max_ps(_mm512_maskz_mov_ps(known, y), lo), hi);
        const __m512i r = _mm512_add_epi32(_mm512_cvtps_epi32(kept), zero);
        _mm512_mask_cvtepi32_storeu_epi8(c + j, some, r);
    }
}
