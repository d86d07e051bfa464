/* simd_sve.h - lanes of Arm's scalable vectors, their length fixed when the unit is compiled.
 *
 * -msve-vector-bits gives the length; the unit runs only where the machine's length is the same
 * (isa.c), so that vectors are ordinary types: members of arrays and structures, of known size.
 */
#ifndef TAKT_KERNEL_SIMD_SIMD_SVE_H
#define TAKT_KERNEL_SIMD_SIMD_SVE_H

#include <arm_sve.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VF (__ARM_FEATURE_SVE_BITS / 32)
#define SIMD_FIXED __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)))

typedef svfloat32_t vf SIMD_FIXED;
typedef svint32_t vi SIMD_FIXED;
typedef svbool_t vm SIMD_FIXED;
typedef svuint32_t simd_vu SIMD_FIXED;
typedef svuint32_t vx SIMD_FIXED;

/* A table: one function a line. */
/* clang-format off */
static inline svbool_t simd_all(void) { return svptrue_b32(); }
static inline svbool_t simd_first(size_t n) { return svwhilelt_b32_u64(0, (uint64_t)n); }
static inline simd_vu vi_as_vu(vi a) { return svreinterpret_u32_s32(a); }
static inline vi vu_as_vi(simd_vu a) { return svreinterpret_s32_u32(a); }

static inline vf vf_load(const float *p) { return svld1_f32(simd_all(), p); }
static inline void vf_store(float *p, vf v) { svst1_f32(simd_all(), p, v); }
static inline vf vf_load_n(const float *p, size_t n) { return svld1_f32(simd_first(n), p); }
static inline void vf_store_n(float *p, vf v, size_t n) { svst1_f32(simd_first(n), p, v); }
static inline vf vf_set1(float x) { return svdup_n_f32(x); }
static inline vf vf_add(vf a, vf b) { return svadd_f32_x(simd_all(), a, b); }
static inline vf vf_sub(vf a, vf b) { return svsub_f32_x(simd_all(), a, b); }
static inline vf vf_mul(vf a, vf b) { return svmul_f32_x(simd_all(), a, b); }
static inline vf vf_div(vf a, vf b) { return svdiv_f32_x(simd_all(), a, b); }
static inline vf vf_sqrt(vf a) { return svsqrt_f32_x(simd_all(), a); }
static inline vf vf_fma(vf a, vf b, vf c) { return svmla_f32_x(simd_all(), c, a, b); }
static inline vf vf_fnma(vf a, vf b, vf c) { return svmls_f32_x(simd_all(), c, a, b); }
static inline vf vf_min(vf a, vf b) { return svmin_f32_x(simd_all(), a, b); }
static inline vf vf_max(vf a, vf b) { return svmax_f32_x(simd_all(), a, b); }
static inline vf vf_floor(vf a) { return svrintm_f32_x(simd_all(), a); }
static inline vf vf_ceil(vf a) { return svrintp_f32_x(simd_all(), a); }
static inline vf vf_trunc(vf a) { return svrintz_f32_x(simd_all(), a); }
static inline vf vf_round(vf a) { return svrintn_f32_x(simd_all(), a); }
static inline vf vf_clamp(vf a, float lo, float hi)
{
    return vf_max(vf_min(a, vf_set1(hi)), vf_set1(lo));
}
static inline vf vf_at_most(vf a, float hi) { return vf_min(a, vf_set1(hi)); }
static inline vf vf_at_least(vf a, float lo) { return vf_max(a, vf_set1(lo)); }
static inline vf vf_rise(vf a) { return vf_max(a, vf_set1(-0.0f)); }
static inline vf vf_larger(vf a, vf b) { return vf_max(a, b); }
static inline vf vf_addend(const float *c) { return vf_set1(*c); }
static inline vx vf_index(vf t)
{
    return svand_n_u32_x(simd_all(), svreinterpret_u32_f32(t), 7);
}
static inline vf vf_pick(const float *table, vx i) { return svtbl_f32(vf_load_n(table, 8), i); }

static inline vm vf_eq(vf a, vf b) { return svcmpeq_f32(simd_all(), a, b); }
static inline vm vf_ne(vf a, vf b) { return svcmpne_f32(simd_all(), a, b); }
static inline vm vf_lt(vf a, vf b) { return svcmplt_f32(simd_all(), a, b); }
static inline vm vf_le(vf a, vf b) { return svcmple_f32(simd_all(), a, b); }
static inline vm vf_gt(vf a, vf b) { return svcmpgt_f32(simd_all(), a, b); }
static inline vm vf_ge(vf a, vf b) { return svcmpge_f32(simd_all(), a, b); }
static inline vf vf_select(vm m, vf a, vf b) { return svsel_f32(m, a, b); }

static inline vm vm_and(vm a, vm b) { return svand_b_z(simd_all(), a, b); }
static inline vm vm_or(vm a, vm b) { return svorr_b_z(simd_all(), a, b); }
static inline vm vm_xor(vm a, vm b) { return sveor_b_z(simd_all(), a, b); }
static inline vm vm_not(vm a) { return svnot_b_z(simd_all(), a); }
static inline bool vm_any(vm a) { return svptest_any(simd_all(), a); }

static inline vi vf_as_vi(vf a) { return svreinterpret_s32_f32(a); }
static inline vf vi_as_vf(vi a) { return svreinterpret_f32_s32(a); }

static inline vi vi_load(const int32_t *p) { return svld1_s32(simd_all(), p); }
static inline void vi_store(int32_t *p, vi v) { svst1_s32(simd_all(), p, v); }
static inline vi vi_load_n(const int32_t *p, size_t n) { return svld1_s32(simd_first(n), p); }
static inline void vi_store_n(int32_t *p, vi v, size_t n) { svst1_s32(simd_first(n), p, v); }
static inline vi vi_set1(int32_t x) { return svdup_n_s32(x); }
static inline vi vi_add(vi a, vi b) { return svadd_s32_x(simd_all(), a, b); }
static inline vi vi_sub(vi a, vi b) { return svsub_s32_x(simd_all(), a, b); }
static inline vi vi_mul(vi a, vi b) { return svmul_s32_x(simd_all(), a, b); }
static inline vi vi_and(vi a, vi b) { return svand_s32_x(simd_all(), a, b); }
static inline vi vi_or(vi a, vi b) { return svorr_s32_x(simd_all(), a, b); }
static inline vi vi_xor(vi a, vi b) { return sveor_s32_x(simd_all(), a, b); }
static inline vi vi_shl(vi a, int n) { return svlsl_n_s32_x(simd_all(), a, (uint32_t)n); }
static inline vi vi_shr(vi a, int n)
{
    return vu_as_vi(svlsr_u32_x(simd_all(), vi_as_vu(a), svdup_n_u32((uint32_t)n)));
}
static inline vi vi_sar(vi a, int n)
{
    return svasr_s32_x(simd_all(), a, svdup_n_u32((uint32_t)n));
}
static inline vi vi_min(vi a, vi b) { return svmin_s32_x(simd_all(), a, b); }
static inline vi vi_max(vi a, vi b) { return svmax_s32_x(simd_all(), a, b); }
static inline vm vi_eq(vi a, vi b) { return svcmpeq_s32(simd_all(), a, b); }
static inline vm vi_gt(vi a, vi b) { return svcmpgt_s32(simd_all(), a, b); }
static inline vi vi_select(vm m, vi a, vi b) { return svsel_s32(m, a, b); }

static inline vf vf_from_vi(vi a) { return svcvt_f32_s32_x(simd_all(), a); }
static inline vi vi_trunc(vf a) { return svcvt_s32_f32_x(simd_all(), a); }
static inline vi vi_round(vf a) { return vi_trunc(vf_round(a)); }
static inline vi vi_round_fast(vf a) { return vi_trunc(vf_round(a)); }

static inline vi vi_load_u8(const uint8_t *p) { return svld1ub_s32(simd_all(), p); }
static inline vi vi_load_i8(const int8_t *p) { return svld1sb_s32(simd_all(), p); }
static inline vi vi_load_i16(const int16_t *p) { return svld1sh_s32(simd_all(), p); }
static inline vi vi_load_u16(const uint16_t *p) { return svld1uh_s32(simd_all(), p); }
static inline void vi_store_u16(uint16_t *p, vi v) { svst1h_u32(simd_all(), p, vi_as_vu(v)); }
static inline void vi_store_u8(uint8_t *p, vi v) { svst1b_u32(simd_all(), p, vi_as_vu(v)); }

/* A half lies in the lower half of each lane. */
static inline vf vf_load_f16(const uint16_t *p)
{
    return svcvt_f32_f16_x(simd_all(), svreinterpret_f16_u32(svld1uh_u32(simd_all(), p)));
}
static inline void vf_store_f16(uint16_t *p, vf v)
{
    svst1h_u32(simd_all(), p, svreinterpret_u32_f16(svcvt_f16_f32_x(simd_all(), v)));
}
static inline vf vf_load_bf16(const uint16_t *p)
{
    const vi bits = vi_shl(vi_load_u16(p), 16);
    const vm nan = vf_ne(vi_as_vf(bits), vi_as_vf(bits));
    return vi_as_vf(vi_select(nan, vi_or(bits, vi_set1(0x400000)), bits));
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
    return svcmpne_n_s32(simd_all(), vi_load_u8(p), 0);
}
static inline void vm_store_u8(uint8_t *p, vm m)
{
    svst1b_u32(simd_all(), p, svdup_n_u32_z(m, 1));
}

/* clang-format on */

#endif
