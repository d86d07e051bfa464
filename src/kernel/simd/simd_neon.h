/* simd_neon.h - four lanes on aarch64. */
#ifndef TAKT_KERNEL_SIMD_SIMD_NEON_H
#define TAKT_KERNEL_SIMD_SIMD_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VF 4

typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint32x4_t vm;
typedef uint8x16_t vx;

/* A table: one function a line. */
/* clang-format off */
static inline vf vf_load(const float *p) { return vld1q_f32(p); }
static inline void vf_store(float *p, vf v) { vst1q_f32(p, v); }
static inline vf vf_load_n(const float *p, size_t n)
{
    float t[VF] = {0};
    memcpy(t, p, n * sizeof *t);
    return vld1q_f32(t);
}
static inline void vf_store_n(float *p, vf v, size_t n)
{
    float t[VF];
    vst1q_f32(t, v);
    memcpy(p, t, n * sizeof *t);
}
static inline vf vf_set1(float x) { return vdupq_n_f32(x); }
static inline vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
static inline vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
static inline vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
static inline vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
static inline vf vf_sqrt(vf a) { return vsqrtq_f32(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
static inline vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
static inline vf vf_min(vf a, vf b) { return vminq_f32(a, b); }
static inline vf vf_max(vf a, vf b) { return vmaxq_f32(a, b); }
static inline vf vf_floor(vf a) { return vrndmq_f32(a); }
static inline vf vf_ceil(vf a) { return vrndpq_f32(a); }
static inline vf vf_trunc(vf a) { return vrndq_f32(a); }
static inline vf vf_round(vf a) { return vrndnq_f32(a); }

static inline vf vf_clamp(vf a, float lo, float hi)
{
    return vmaxq_f32(vminq_f32(a, vdupq_n_f32(hi)), vdupq_n_f32(lo));
}
static inline vf vf_at_most(vf a, float hi) { return vminq_f32(a, vdupq_n_f32(hi)); }
static inline vf vf_at_least(vf a, float lo) { return vmaxq_f32(a, vdupq_n_f32(lo)); }
static inline vf vf_rise(vf a) { return vmaxq_f32(a, vdupq_n_f32(-0.0f)); }
#define SIMD_ABS
static inline vf vf_abs(vf a) { return vabsq_f32(a); }
#define SIMD_COPYSIGN
static inline vf vf_copysign(vf mag, vf sign)
{
    return vbslq_f32(vdupq_n_u32(0x80000000U), sign, mag);
}
static inline vf vf_larger(vf a, vf b) { return vmaxq_f32(a, b); }

/* fmla overwrites what it adds to. Kept in a register, a constant would be copied first, and a copy
 * with its fmla takes a Neoverse V1 a whole cycle, in which it can load three vectors. */
static inline vf vf_addend(const float *c) { return *(const volatile vf *)(const void *)c; }

/* Byte numbers: 4 n + 0, 1, 2, 3. */
static inline vx vf_index(vf t)
{
    const uint32_t four = 0x04040404, shift = 0x03020100 - 0x4b400000U * four;
    const uint32x4_t n = vreinterpretq_u32_f32(t);
    return vreinterpretq_u8_u32(vmlaq_u32(vdupq_n_u32(shift), n, vdupq_n_u32(four)));
}
static inline vf vf_pick(const float *table, vx i)
{
#ifdef __clang__
    const uint8x16_t low = vreinterpretq_u8_f32(vld1q_f32(table));
    const uint8x16x2_t both = {{low, vreinterpretq_u8_f32(vld1q_f32(table + 4))}};
    return vreinterpretq_f32_u8(vqtbl2q_u8(both, i));
#else /* gcc copies pairs of registers about: a third more time */
    vf r;
    __asm__("ldp q30, q31, %2\n\ttbl %0.16b, {v30.16b, v31.16b}, %1.16b"
            : "=w"(r) : "w"(i), "Q"(*(const float (*)[8])table) : "v30", "v31");
    return r;
#endif
}

static inline vm vf_eq(vf a, vf b) { return vceqq_f32(a, b); }
static inline vm vf_ne(vf a, vf b) { return vmvnq_u32(vceqq_f32(a, b)); }
static inline vm vf_lt(vf a, vf b) { return vcltq_f32(a, b); }
static inline vm vf_le(vf a, vf b) { return vcleq_f32(a, b); }
static inline vm vf_gt(vf a, vf b) { return vcgtq_f32(a, b); }
static inline vm vf_ge(vf a, vf b) { return vcgeq_f32(a, b); }
static inline vf vf_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }

static inline vm vm_and(vm a, vm b) { return vandq_u32(a, b); }
static inline vm vm_or(vm a, vm b) { return vorrq_u32(a, b); }
static inline vm vm_xor(vm a, vm b) { return veorq_u32(a, b); }
static inline vm vm_not(vm a) { return vmvnq_u32(a); }
static inline bool vm_any(vm a) { return vmaxvq_u32(a) != 0; }

static inline vi vf_as_vi(vf a) { return vreinterpretq_s32_f32(a); }
static inline vf vi_as_vf(vi a) { return vreinterpretq_f32_s32(a); }

static inline vi vi_load(const int32_t *p) { return vld1q_s32(p); }
static inline void vi_store(int32_t *p, vi v) { vst1q_s32(p, v); }
static inline vi vi_load_n(const int32_t *p, size_t n)
{
    int32_t t[VF] = {0};
    memcpy(t, p, n * sizeof *t);
    return vld1q_s32(t);
}
static inline void vi_store_n(int32_t *p, vi v, size_t n)
{
    int32_t t[VF];
    vst1q_s32(t, v);
    memcpy(p, t, n * sizeof *t);
}
static inline vi vi_set1(int32_t x) { return vdupq_n_s32(x); }
static inline vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
static inline vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
static inline vi vi_mul(vi a, vi b) { return vmulq_s32(a, b); }
static inline vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
static inline vi vi_or(vi a, vi b) { return vorrq_s32(a, b); }
static inline vi vi_xor(vi a, vi b) { return veorq_s32(a, b); }
/* Operators rather than intrinsics: those insist on a literal, which -O0 does not see here. */
static inline vi vi_shl(vi a, int n) { return (vi)((vm)a << (unsigned)n); }
static inline vi vi_shr(vi a, int n) { return (vi)((vm)a >> (unsigned)n); }
static inline vi vi_sar(vi a, int n) { return a >> n; }
static inline vi vi_min(vi a, vi b) { return vminq_s32(a, b); }
static inline vi vi_max(vi a, vi b) { return vmaxq_s32(a, b); }
static inline vm vi_eq(vi a, vi b) { return vceqq_s32(a, b); }
static inline vm vi_gt(vi a, vi b) { return vcgtq_s32(a, b); }
static inline vi vi_select(vm m, vi a, vi b) { return vbslq_s32(m, a, b); }

static inline vf vf_from_vi(vi a) { return vcvtq_f32_s32(a); }
static inline vi vi_trunc(vf a) { return vcvtq_s32_f32(a); }
static inline vi vi_round(vf a) { return vcvtnq_s32_f32(a); }
static inline vi vi_round_fast(vf a) { return vcvtnq_s32_f32(a); }

static inline vf vf_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline void vf_store_f16(uint16_t *p, vf v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
static inline vf vf_load_bf16(const uint16_t *p)
{
    const vf v = vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
    return vmaxq_f32(v, v); /* makes a NaN quiet and changes nothing else */
}
static inline void vf_store_bf16(uint16_t *p, vf v)
{
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
    vst1_u16(p, vreinterpret_u16_bf16(vcvt_bf16_f32(v)));
#else
    const vi bits = vf_as_vi(v);
    const vi odd = vi_and(vi_shr(bits, 16), vi_set1(1));
    const vi number = vi_add(bits, vi_add(odd, vi_set1(0x7fff)));
    const vi r = vi_select(vceqq_f32(v, v), number, vi_or(bits, vi_set1(0x400000)));
    vst1_u16(p, vmovn_u32((vm)vi_shr(r, 16)));
#endif
}

static inline vi vi_load_u8(const uint8_t *p)
{
    uint32_t t;
    memcpy(&t, p, sizeof t);
    const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(t));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
}
static inline vi vi_load_i8(const int8_t *p)
{
    uint32_t t;
    memcpy(&t, p, sizeof t);
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(t)))));
}
static inline vi vi_load_i16(const int16_t *p) { return vmovl_s16(vld1_s16(p)); }
static inline vi vi_load_u16(const uint16_t *p)
{
    return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
}
static inline void vi_store_u16(uint16_t *p, vi v) { vst1_u16(p, vmovn_u32((vm)v)); }
static inline void vi_store_u8(uint8_t *p, vi v)
{
    const uint16x4_t half = vmovn_u32((vm)v);
    const uint32_t t = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(half, half))), 0);
    memcpy(p, &t, sizeof t);
}

static inline vm vm_load_u8(const uint8_t *p)
{
    return vmvnq_u32(vceqq_s32(vi_load_u8(p), vdupq_n_s32(0)));
}
static inline void vm_store_u8(uint8_t *p, vm m)
{
    vi_store_u8(p, vandq_s32((vi)m, vdupq_n_s32(1)));
}

/* clang-format on */

#endif
