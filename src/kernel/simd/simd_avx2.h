/* simd_avx2.h - eight lanes on x86-64 with AVX2, FMA and F16C. */
#ifndef TAKT_KERNEL_SIMD_SIMD_AVX2_H
#define TAKT_KERNEL_SIMD_SIMD_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VF 8

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm; /* all bits of a lane are equal */
typedef __m256i vx;

/* A table: one function a line. */
/* clang-format off */
/* Lanes 0..n-1 set: masked stores touch no byte of the other lanes. */
static inline vi simd_first(size_t n)
{
    const vi lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

/* n < 4 elements, the others zero. Not a masked load: emulators read all of its bytes. */
static inline __m128 simd_few(const float *p, size_t n)
{
    __m128 v = _mm_setzero_ps();
    float last; /* by memcpy: the memory may hold integers */
    if (n & 1)
        v = _mm_set_ss((memcpy(&last, p + (n & 2), sizeof last), last));
    if (n & 2)
        v = _mm_loadl_pi(_mm_movelh_ps(v, v), (const __m64 *)p);
    return v;
}

static inline vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
static inline vf vf_load_n(const float *p, size_t n)
{
    if (n >= VF)
        return _mm256_loadu_ps(p);
    if (n < 4)
        return _mm256_set_m128(_mm_setzero_ps(), simd_few(p, n));
    return _mm256_set_m128(simd_few(p + 4, n - 4), _mm_loadu_ps(p));
}
static inline void vf_store_n(float *p, vf v, size_t n)
{
    _mm256_maskstore_ps(p, simd_first(n), v);
}
static inline vf vf_set1(float x) { return _mm256_set1_ps(x); }
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static inline vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }

/* minps returns its second operand for zeros of either sign and for NaN: taking it both ways
 * round and joining the bits settles the zeros, a sum supplies the NaN. */
static inline vf vf_min(vf a, vf b)
{
    const vf number = _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));
    return _mm256_blendv_ps(number, _mm256_add_ps(a, b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}
static inline vf vf_max(vf a, vf b)
{
    const vf number = _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a));
    return _mm256_blendv_ps(number, _mm256_add_ps(a, b), _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}
static inline vf vf_floor(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_ceil(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_trunc(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
static inline vf vf_round(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vf vf_clamp(vf a, float lo, float hi)
{
    return _mm256_max_ps(_mm256_set1_ps(lo), _mm256_min_ps(_mm256_set1_ps(hi), a));
}
static inline vf vf_at_most(vf a, float hi) { return _mm256_min_ps(_mm256_set1_ps(hi), a); }
static inline vf vf_at_least(vf a, float lo) { return _mm256_max_ps(_mm256_set1_ps(lo), a); }
static inline vf vf_rise(vf a) { return _mm256_max_ps(_mm256_set1_ps(-0.0f), a); }
static inline vf vf_larger(vf a, vf b) { return _mm256_max_ps(a, b); }
static inline vf vf_addend(const float *c) { return _mm256_set1_ps(*c); }
static inline vx vf_index(vf t) { return _mm256_castps_si256(t); } /* three bits count */
static inline vf vf_pick(const float *table, vx i)
{
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), i);
}

/* Of two operands maxps and minps return the second if either is NaN or both are zeros. */
#define SIMD_HAS_RELU
static inline vf vf_relu(vf x) { return _mm256_max_ps(_mm256_setzero_ps(), x); }
static inline vf vf_limit(vf x, float hi)
{
    const vf sign = _mm256_set1_ps(hi == 0 && signbit(hi) ? -0.0f : 0.0f);
    return _mm256_or_ps(_mm256_min_ps(_mm256_set1_ps(hi), x), sign);
}
static inline vf vf_lower(vf x, float hi) { return _mm256_min_ps(_mm256_set1_ps(hi), x); }
static inline vf vf_raise(vf x, float lo)
{
    const vf sign = _mm256_set1_ps(lo == 0 && !signbit(lo) ? -0.0f : 0.0f);
    return _mm256_andnot_ps(sign, _mm256_max_ps(_mm256_set1_ps(lo), x));
}

static inline vm vf_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline vm vf_ne(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
static inline vm vf_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline vm vf_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
static inline vm vf_gt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
static inline vm vf_ge(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
static inline vf vf_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }

static inline vi vf_as_vi(vf a) { return _mm256_castps_si256(a); }
static inline vf vi_as_vf(vi a) { return _mm256_castsi256_ps(a); }

static inline vm vm_and(vm a, vm b) { return _mm256_and_ps(a, b); }
static inline vm vm_or(vm a, vm b) { return _mm256_or_ps(a, b); }
static inline vm vm_xor(vm a, vm b) { return _mm256_xor_ps(a, b); }
static inline vm vm_not(vm a) { return _mm256_xor_ps(a, vi_as_vf(_mm256_set1_epi32(-1))); }
static inline bool vm_any(vm a) { return _mm256_movemask_ps(a) != 0; }

static inline vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const vi *)p); }
static inline void vi_store(int32_t *p, vi v) { _mm256_storeu_si256((vi *)p, v); }
static inline vi vi_load_n(const int32_t *p, size_t n)
{
    return _mm256_castps_si256(vf_load_n((const float *)p, n));
}
static inline void vi_store_n(int32_t *p, vi v, size_t n)
{
    _mm256_maskstore_epi32((int *)p, simd_first(n), v);
}
static inline vi vi_set1(int32_t x) { return _mm256_set1_epi32(x); }
static inline vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
static inline vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
static inline vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
static inline vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
static inline vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
static inline vi vi_shl(vi a, int n) { return _mm256_slli_epi32(a, n); }
static inline vi vi_shr(vi a, int n) { return _mm256_srli_epi32(a, n); }
static inline vi vi_sar(vi a, int n) { return _mm256_srai_epi32(a, n); }
static inline vi vi_min(vi a, vi b) { return _mm256_min_epi32(a, b); }
static inline vi vi_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
static inline vm vi_eq(vi a, vi b) { return vi_as_vf(_mm256_cmpeq_epi32(a, b)); }
static inline vm vi_gt(vi a, vi b) { return vi_as_vf(_mm256_cmpgt_epi32(a, b)); }
static inline vi vi_select(vm m, vi a, vi b)
{
    return vf_as_vi(_mm256_blendv_ps(vi_as_vf(b), vi_as_vf(a), m));
}

static inline vf vf_from_vi(vi a) { return _mm256_cvtepi32_ps(a); }
/* Out of range the instruction gives INT32_MIN: right below, one short of right above. */
static inline vi vi_trunc(vf a)
{
    const vi high = vf_as_vi(_mm256_cmp_ps(a, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ));
    const vi r = _mm256_xor_si256(_mm256_cvttps_epi32(a), high);
    return _mm256_and_si256(r, vf_as_vi(_mm256_cmp_ps(a, a, _CMP_ORD_Q)));
}
static inline vi vi_round(vf a) { return vi_trunc(vf_round(a)); }
static inline vi vi_round_fast(vf a) { return _mm256_cvttps_epi32(vf_round(a)); }

static inline vf vf_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline void vf_store_f16(uint16_t *p, vf v)
{
    const __m128i h = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128((__m128i *)p, h);
}

static inline vi vi_load_i8(const int8_t *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
static inline vi vi_load_u8(const uint8_t *p)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
static inline vi vi_load_i16(const int16_t *p)
{
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline vi vi_load_u16(const uint16_t *p)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline __m128i simd_low16(vi v)
{
    const vi low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
    return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
static inline void vi_store_u16(uint16_t *p, vi v)
{
    _mm_storeu_si128((__m128i *)p, simd_low16(v));
}
static inline void vi_store_u8(uint8_t *p, vi v)
{
    const __m128i low = _mm_and_si128(simd_low16(v), _mm_set1_epi16(0xff));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(low, low));
}

static inline vf vf_load_bf16(const uint16_t *p)
{
    const vi bits = vi_shl(vi_load_u16(p), 16);
    const vi nan = vf_as_vi(_mm256_cmp_ps(vi_as_vf(bits), vi_as_vf(bits), _CMP_UNORD_Q));
    return vi_as_vf(vi_or(bits, vi_and(nan, vi_set1(0x400000))));
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
    return vm_not(vi_eq(vi_load_u8(p), _mm256_setzero_si256()));
}
static inline void vm_store_u8(uint8_t *p, vm m)
{
    vi_store_u8(p, vi_and(vf_as_vi(m), vi_set1(1)));
}

/* clang-format on */

#endif
