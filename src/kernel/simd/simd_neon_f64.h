/* simd_neon_f64.h - two lanes of double on aarch64. */
#ifndef TAKT_KERNEL_SIMD_SIMD_NEON_F64_H
#define TAKT_KERNEL_SIMD_SIMD_NEON_F64_H

#include "kernel/simd/simd_neon.h"

#define VD 2

typedef float64x2_t vd;
typedef int64x2_t vl;
typedef uint64x2_t vmd;

/* A table: one function a line. */
/* clang-format off */
static inline vd vd_load(const double *p) { return vld1q_f64(p); }
static inline void vd_store(double *p, vd v) { vst1q_f64(p, v); }
static inline vd vd_load_n(const double *p, size_t n)
{
    double t[VD] = {0};
    memcpy(t, p, n * sizeof *t);
    return vld1q_f64(t);
}
static inline void vd_store_n(double *p, vd v, size_t n)
{
    double t[VD];
    vst1q_f64(t, v);
    memcpy(p, t, n * sizeof *t);
}
static inline vd vd_set1(double x) { return vdupq_n_f64(x); }
static inline vd vd_add(vd a, vd b) { return vaddq_f64(a, b); }
static inline vd vd_sub(vd a, vd b) { return vsubq_f64(a, b); }
static inline vd vd_mul(vd a, vd b) { return vmulq_f64(a, b); }
static inline vd vd_div(vd a, vd b) { return vdivq_f64(a, b); }
static inline vd vd_sqrt(vd a) { return vsqrtq_f64(a); }
static inline vd vd_fma(vd a, vd b, vd c) { return vfmaq_f64(c, a, b); }
static inline vd vd_fnma(vd a, vd b, vd c) { return vfmsq_f64(c, a, b); }
static inline vd vd_min(vd a, vd b) { return vminq_f64(a, b); }
static inline vd vd_max(vd a, vd b) { return vmaxq_f64(a, b); }
static inline vd vd_larger(vd a, vd b) { return vmaxq_f64(a, b); }
static inline vd vd_floor(vd a) { return vrndmq_f64(a); }
static inline vd vd_ceil(vd a) { return vrndpq_f64(a); }
static inline vd vd_trunc(vd a) { return vrndq_f64(a); }
static inline vd vd_round(vd a) { return vrndnq_f64(a); }

static inline vmd vmd_not(vmd a) { return veorq_u64(a, vdupq_n_u64(UINT64_MAX)); }
static inline vmd vd_eq(vd a, vd b) { return vceqq_f64(a, b); }
static inline vmd vd_ne(vd a, vd b) { return vmd_not(vceqq_f64(a, b)); }
static inline vmd vd_lt(vd a, vd b) { return vcltq_f64(a, b); }
static inline vmd vd_le(vd a, vd b) { return vcleq_f64(a, b); }
static inline vmd vd_gt(vd a, vd b) { return vcgtq_f64(a, b); }
static inline vmd vd_ge(vd a, vd b) { return vcgeq_f64(a, b); }
static inline vd vd_select(vmd m, vd a, vd b) { return vbslq_f64(m, a, b); }

static inline vmd vmd_and(vmd a, vmd b) { return vandq_u64(a, b); }
static inline vmd vmd_or(vmd a, vmd b) { return vorrq_u64(a, b); }
static inline vmd vmd_xor(vmd a, vmd b) { return veorq_u64(a, b); }
static inline bool vmd_any(vmd a) { return vmaxvq_u32(vreinterpretq_u32_u64(a)) != 0; }

static inline vl vd_as_vl(vd a) { return vreinterpretq_s64_f64(a); }
static inline vd vl_as_vd(vl a) { return vreinterpretq_f64_s64(a); }
static inline vl vl_set1(int64_t x) { return vdupq_n_s64(x); }
static inline vl vl_add(vl a, vl b) { return vaddq_s64(a, b); }
static inline vl vl_sub(vl a, vl b) { return vsubq_s64(a, b); }
static inline vl vl_and(vl a, vl b) { return vandq_s64(a, b); }
static inline vl vl_or(vl a, vl b) { return vorrq_s64(a, b); }
static inline vl vl_xor(vl a, vl b) { return veorq_s64(a, b); }
static inline vl vl_shl(vl a, int n) { return (vl)((vmd)a << (unsigned)n); }
static inline vl vl_shr(vl a, int n) { return (vl)((vmd)a >> (unsigned)n); }
static inline vmd vl_eq(vl a, vl b) { return vceqq_s64(a, b); }

static inline vd vd_lo(vf a) { return vcvt_f64_f32(vget_low_f32(a)); }
static inline vd vd_hi(vf a) { return vcvt_high_f64_f32(a); }
static inline vf vf_from_vd(vd lo, vd hi) { return vcvt_high_f32_f64(vcvt_f32_f64(lo), hi); }

static inline vmd vmd_load_u8(const uint8_t *p)
{
    const uint64_t t[VD] = {p[0] ? UINT64_MAX : 0, p[1] ? UINT64_MAX : 0};
    return vld1q_u64(t);
}
static inline void vmd_store_u8(uint8_t *p, vmd m)
{
    p[0] = (uint8_t)(vgetq_lane_u64(m, 0) & 1);
    p[1] = (uint8_t)(vgetq_lane_u64(m, 1) & 1);
}

/* clang-format on */

#endif
