/* simd_avx512_f64.h - eight lanes of double on x86-64 with AVX-512. */
#ifndef TAKT_KERNEL_SIMD_SIMD_AVX512_F64_H
#define TAKT_KERNEL_SIMD_SIMD_AVX512_F64_H

#include "kernel/simd/simd_avx512.h"

#define VD 8

/* Without optimisation gcc's intrinsics are macros, and their own conversions warn here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

typedef __m512d vd;
typedef __m512i vl;
typedef __mmask8 vmd;
typedef uint64_t simd_u64x8 __attribute__((vector_size(64)));

/* A table: one function a line. */
/* clang-format off */
static inline __mmask8 simd_first_f64(size_t n) { return (__mmask8)((1u << n) - 1u); }

static inline vd vd_load(const double *p) { return _mm512_loadu_pd(p); }
static inline void vd_store(double *p, vd v) { _mm512_storeu_pd(p, v); }
static inline vd vd_load_n(const double *p, size_t n)
{
    return _mm512_maskz_loadu_pd(simd_first_f64(n), p);
}
static inline void vd_store_n(double *p, vd v, size_t n)
{
    _mm512_mask_storeu_pd(p, simd_first_f64(n), v);
}
static inline vd vd_set1(double x) { return _mm512_set1_pd(x); }
static inline vd vd_add(vd a, vd b) { return _mm512_add_pd(a, b); }
static inline vd vd_sub(vd a, vd b) { return _mm512_sub_pd(a, b); }
static inline vd vd_mul(vd a, vd b) { return _mm512_mul_pd(a, b); }
static inline vd vd_div(vd a, vd b) { return _mm512_div_pd(a, b); }
static inline vd vd_sqrt(vd a) { return _mm512_sqrt_pd(a); }
static inline vd vd_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
static inline vd vd_fnma(vd a, vd b, vd c) { return _mm512_fnmadd_pd(a, b, c); }
static inline vd vd_min(vd a, vd b)
{
    const vd number = _mm512_or_pd(_mm512_min_pd(a, b), _mm512_min_pd(b, a));
    return _mm512_mask_add_pd(number, _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q), a, b);
}
static inline vd vd_max(vd a, vd b)
{
    const vd number = _mm512_and_pd(_mm512_max_pd(a, b), _mm512_max_pd(b, a));
    return _mm512_mask_add_pd(number, _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q), a, b);
}
static inline vd vd_larger(vd a, vd b) { return _mm512_max_pd(a, b); }
static inline vd vd_floor(vd a)
{
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vd vd_ceil(vd a)
{
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vd vd_trunc(vd a)
{
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
static inline vd vd_round(vd a)
{
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vmd vd_eq(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
static inline vmd vd_ne(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }
static inline vmd vd_lt(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
static inline vmd vd_le(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
static inline vmd vd_gt(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
static inline vmd vd_ge(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
static inline vd vd_select(vmd m, vd a, vd b) { return _mm512_mask_blend_pd(m, b, a); }

static inline vmd vmd_and(vmd a, vmd b) { return (vmd)(a & b); }
static inline vmd vmd_or(vmd a, vmd b) { return (vmd)(a | b); }
static inline vmd vmd_xor(vmd a, vmd b) { return (vmd)(a ^ b); }
static inline vmd vmd_not(vmd a) { return (vmd)~a; }
static inline bool vmd_any(vmd a) { return a != 0; }

static inline vl vd_as_vl(vd a) { return _mm512_castpd_si512(a); }
static inline vd vl_as_vd(vl a) { return _mm512_castsi512_pd(a); }
static inline vl vl_set1(int64_t x) { return _mm512_set1_epi64((long long)x); }
static inline vl vl_add(vl a, vl b) { return _mm512_add_epi64(a, b); }
static inline vl vl_sub(vl a, vl b) { return _mm512_sub_epi64(a, b); }
static inline vl vl_and(vl a, vl b) { return _mm512_and_si512(a, b); }
static inline vl vl_or(vl a, vl b) { return _mm512_or_si512(a, b); }
static inline vl vl_xor(vl a, vl b) { return _mm512_xor_si512(a, b); }
static inline vl vl_shl(vl a, int n) { return (vl)((simd_u64x8)a << (unsigned)n); }
static inline vl vl_shr(vl a, int n) { return (vl)((simd_u64x8)a >> (unsigned)n); }
static inline vmd vl_eq(vl a, vl b) { return _mm512_cmpeq_epi64_mask(a, b); }

static inline vd vd_upper(vd a, int n)
{
    const __m512i order = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_pd(_mm512_add_epi64(order, _mm512_set1_epi64(n)), a);
}
static inline vd vd_lo(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
static inline vd vd_hi(vf a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
static inline vf vf_from_vd(vd lo, vd hi)
{
    const vf low = _mm512_castps256_ps512(_mm512_cvtpd_ps(lo));
    return _mm512_insertf32x8(low, _mm512_cvtpd_ps(hi), 1);
}

static inline vmd vmd_load_u8(const uint8_t *p)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)p);
    return (vmd)_mm_test_epi8_mask(bytes, bytes);
}
static inline void vmd_store_u8(uint8_t *p, vmd m)
{
    _mm_storel_epi64((__m128i *)p, _mm_maskz_set1_epi8(m, 1));
}

#pragma GCC diagnostic pop

/* clang-format on */

#endif
