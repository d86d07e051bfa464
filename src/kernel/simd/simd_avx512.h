/* simd_avx512.h - sixteen lanes on x86-64 with AVX-512 F, BW, DQ and VL. */
#ifndef TAKT_KERNEL_SIMD_SIMD_AVX512_H
#define TAKT_KERNEL_SIMD_SIMD_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VF 16

/* Without optimisation gcc's intrinsics are macros, and their own conversions warn here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;
typedef __m512i vx;
typedef uint32_t simd_u32x16 __attribute__((vector_size(64)));
typedef int32_t simd_i32x16 __attribute__((vector_size(64)));

/* A table: one function a line. */
/* clang-format off */
static inline __mmask16 simd_first(size_t n) { return (__mmask16)((1u << n) - 1u); }

static inline vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
static inline vf vf_load_n(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(simd_first(n), p);
}
static inline void vf_store_n(float *p, vf v, size_t n)
{
    _mm512_mask_storeu_ps(p, simd_first(n), v);
}
static inline vf vf_set1(float x) { return _mm512_set1_ps(x); }
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
static inline vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }

/* As in simd_avx2.h: both orders joined settle the zeros, a sum supplies the NaN. */
static inline vf vf_min(vf a, vf b)
{
    const vf number = _mm512_or_ps(_mm512_min_ps(a, b), _mm512_min_ps(b, a));
    return _mm512_mask_add_ps(number, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b);
}
static inline vf vf_max(vf a, vf b)
{
    const vf number = _mm512_and_ps(_mm512_max_ps(a, b), _mm512_max_ps(b, a));
    return _mm512_mask_add_ps(number, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b);
}
static inline vf vf_floor(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_ceil(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_trunc(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
static inline vf vf_round(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf vf_clamp(vf a, float lo, float hi)
{
    return _mm512_max_ps(_mm512_set1_ps(lo), _mm512_min_ps(_mm512_set1_ps(hi), a));
}
static inline vf vf_at_most(vf a, float hi) { return _mm512_min_ps(_mm512_set1_ps(hi), a); }
static inline vf vf_at_least(vf a, float lo) { return _mm512_max_ps(_mm512_set1_ps(lo), a); }
static inline vf vf_rise(vf a) { return _mm512_max_ps(_mm512_set1_ps(-0.0f), a); }
#define SIMD_COPYSIGN
static inline vf vf_copysign(vf mag, vf sign)
{
    enum { CHOOSE = 0xca }; /* bits of the second operand where the first has ones */
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(sign),
                                  _mm512_castps_si512(mag), CHOOSE));
}
/* Lane i is lane i + n, as far as there is one. */
#define SIMD_UPPER
static inline vf vf_upper(vf a, int n)
{
    const vi order = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_ps(_mm512_add_epi32(order, _mm512_set1_epi32(n)), a);
}
#define SIMD_SCALE
static inline vf vf_scale(vf a, vf n) { return _mm512_scalef_ps(a, n); }
static inline vf vf_larger(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf vf_addend(const float *c) { return _mm512_set1_ps(*c); }
static inline vx vf_index(vf t) { return _mm512_castps_si512(t); } /* four bits count */
static inline vf vf_pick(const float *table, vx i)
{
    return _mm512_permutexvar_ps(i, _mm512_broadcast_f32x8(_mm256_loadu_ps(table)));
}

/* Of two operands maxps and minps return the second if either is NaN or both are zeros. */
#define SIMD_HAS_RELU
static inline vf vf_relu(vf x) { return _mm512_max_ps(_mm512_setzero_ps(), x); }
static inline vf vf_limit(vf x, float hi)
{
    const vf sign = _mm512_set1_ps(hi == 0 && signbit(hi) ? -0.0f : 0.0f);
    return _mm512_or_ps(_mm512_min_ps(_mm512_set1_ps(hi), x), sign);
}
static inline vf vf_lower(vf x, float hi) { return _mm512_min_ps(_mm512_set1_ps(hi), x); }
static inline vf vf_raise(vf x, float lo)
{
    const vf sign = _mm512_set1_ps(lo == 0 && !signbit(lo) ? -0.0f : 0.0f);
    return _mm512_andnot_ps(sign, _mm512_max_ps(_mm512_set1_ps(lo), x));
}

static inline vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline vm vf_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
static inline vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vm vf_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
static inline vm vf_gt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline vm vf_ge(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
static inline vf vf_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }

static inline vm vm_and(vm a, vm b) { return (vm)(a & b); }
static inline vm vm_or(vm a, vm b) { return (vm)(a | b); }
static inline vm vm_xor(vm a, vm b) { return (vm)(a ^ b); }
static inline vm vm_not(vm a) { return (vm)~a; }
static inline bool vm_any(vm a) { return a != 0; }

static inline vi vf_as_vi(vf a) { return _mm512_castps_si512(a); }
static inline vf vi_as_vf(vi a) { return _mm512_castsi512_ps(a); }

static inline vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
static inline void vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, v); }
static inline vi vi_load_n(const int32_t *p, size_t n)
{
    return _mm512_maskz_loadu_epi32(simd_first(n), p);
}
static inline void vi_store_n(int32_t *p, vi v, size_t n)
{
    _mm512_mask_storeu_epi32(p, simd_first(n), v);
}
static inline vi vi_set1(int32_t x) { return _mm512_set1_epi32(x); }
static inline vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
static inline vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
static inline vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
static inline vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
/* Operators rather than intrinsics: those insist on a literal, which -O0 does not see here. */
static inline vi vi_shl(vi a, int n) { return (vi)((simd_u32x16)a << (unsigned)n); }
static inline vi vi_shr(vi a, int n) { return (vi)((simd_u32x16)a >> (unsigned)n); }
static inline vi vi_sar(vi a, int n) { return (vi)((simd_i32x16)a >> n); }
static inline vi vi_min(vi a, vi b) { return _mm512_min_epi32(a, b); }
static inline vi vi_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
static inline vm vi_eq(vi a, vi b) { return _mm512_cmpeq_epi32_mask(a, b); }
static inline vm vi_gt(vi a, vi b) { return _mm512_cmpgt_epi32_mask(a, b); }
static inline vi vi_select(vm m, vi a, vi b) { return _mm512_mask_blend_epi32(m, b, a); }

static inline vf vf_from_vi(vi a) { return _mm512_cvtepi32_ps(a); }
static inline vi vi_trunc(vf a)
{
    const __mmask16 high = _mm512_cmp_ps_mask(a, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    const __mmask16 number = _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q);
    const vi r = _mm512_maskz_cvttps_epi32(number, a);
    return _mm512_mask_blend_epi32(high, r, _mm512_set1_epi32(INT32_MAX));
}
static inline vi vi_round(vf a) { return vi_trunc(vf_round(a)); }
static inline vi vi_round_fast(vf a) { return _mm512_cvttps_epi32(vf_round(a)); }

static inline vf vf_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline void vf_store_f16(uint16_t *p, vf v)
{
    const __m256i h = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256((__m256i *)p, h);
}

static inline vi vi_load_i8(const int8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline vi vi_load_u8(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline vi vi_load_i16(const int16_t *p)
{
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
static inline vi vi_load_u16(const uint16_t *p)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
static inline void vi_store_u16(uint16_t *p, vi v)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(v));
}
static inline void vi_store_u8(uint8_t *p, vi v)
{
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(v));
}

static inline vf vf_load_bf16(const uint16_t *p)
{
    const vi bits = vi_shl(vi_load_u16(p), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(vi_as_vf(bits), vi_as_vf(bits), _CMP_UNORD_Q);
    return vi_as_vf(_mm512_mask_or_epi32(bits, nan, bits, vi_set1(0x400000)));
}
static inline void vf_store_bf16(uint16_t *p, vf v)
{
    const vi bits = vf_as_vi(v);
    const vi odd = vi_and(vi_shr(bits, 16), vi_set1(1));
    const vi number = vi_add(bits, vi_add(odd, vi_set1(0x7fff)));
    vi_store_u16(p, vi_shr(vi_select(vf_eq(v, v), number, vi_or(bits, vi_set1(0x400000))), 16));
}

static inline vm vm_load_u8(const uint8_t *p)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    return _mm_test_epi8_mask(bytes, bytes);
}
static inline void vm_store_u8(uint8_t *p, vm m)
{
    _mm_storeu_si128((__m128i *)p, _mm_maskz_set1_epi8(m, 1));
}

#pragma GCC diagnostic pop

/* clang-format on */

#endif
