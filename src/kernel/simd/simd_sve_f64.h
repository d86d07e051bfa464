/* simd_sve_f64.h - lanes of double of Arm's scalable vectors. */
#ifndef TAKT_KERNEL_SIMD_SIMD_SVE_F64_H
#define TAKT_KERNEL_SIMD_SIMD_SVE_F64_H

#include "kernel/simd/simd_sve.h"

#define VD (__ARM_FEATURE_SVE_BITS / 64)

typedef svfloat64_t vd SIMD_FIXED;
typedef svint64_t vl SIMD_FIXED;
typedef svbool_t vmd SIMD_FIXED;

/* A table: one function a line. */
/* clang-format off */
static inline svbool_t simd_all_f64(void) { return svptrue_b64(); }
static inline svbool_t simd_first_f64(size_t n) { return svwhilelt_b64_u64(0, (uint64_t)n); }

static inline vd vd_load(const double *p) { return svld1_f64(simd_all_f64(), p); }
static inline void vd_store(double *p, vd v) { svst1_f64(simd_all_f64(), p, v); }
static inline vd vd_load_n(const double *p, size_t n) { return svld1_f64(simd_first_f64(n), p); }
static inline void vd_store_n(double *p, vd v, size_t n) { svst1_f64(simd_first_f64(n), p, v); }
static inline vd vd_set1(double x) { return svdup_n_f64(x); }
static inline vd vd_add(vd a, vd b) { return svadd_f64_x(simd_all_f64(), a, b); }
static inline vd vd_sub(vd a, vd b) { return svsub_f64_x(simd_all_f64(), a, b); }
static inline vd vd_mul(vd a, vd b) { return svmul_f64_x(simd_all_f64(), a, b); }
static inline vd vd_div(vd a, vd b) { return svdiv_f64_x(simd_all_f64(), a, b); }
static inline vd vd_sqrt(vd a) { return svsqrt_f64_x(simd_all_f64(), a); }
static inline vd vd_fma(vd a, vd b, vd c) { return svmla_f64_x(simd_all_f64(), c, a, b); }
static inline vd vd_fnma(vd a, vd b, vd c) { return svmls_f64_x(simd_all_f64(), c, a, b); }
static inline vd vd_min(vd a, vd b) { return svmin_f64_x(simd_all_f64(), a, b); }
static inline vd vd_max(vd a, vd b) { return svmax_f64_x(simd_all_f64(), a, b); }
static inline vd vd_larger(vd a, vd b) { return vd_max(a, b); }
static inline vd vd_floor(vd a) { return svrintm_f64_x(simd_all_f64(), a); }
static inline vd vd_ceil(vd a) { return svrintp_f64_x(simd_all_f64(), a); }
static inline vd vd_trunc(vd a) { return svrintz_f64_x(simd_all_f64(), a); }
static inline vd vd_round(vd a) { return svrintn_f64_x(simd_all_f64(), a); }

static inline vmd vd_eq(vd a, vd b) { return svcmpeq_f64(simd_all_f64(), a, b); }
static inline vmd vd_ne(vd a, vd b) { return svcmpne_f64(simd_all_f64(), a, b); }
static inline vmd vd_lt(vd a, vd b) { return svcmplt_f64(simd_all_f64(), a, b); }
static inline vmd vd_le(vd a, vd b) { return svcmple_f64(simd_all_f64(), a, b); }
static inline vmd vd_gt(vd a, vd b) { return svcmpgt_f64(simd_all_f64(), a, b); }
static inline vmd vd_ge(vd a, vd b) { return svcmpge_f64(simd_all_f64(), a, b); }
static inline vd vd_select(vmd m, vd a, vd b) { return svsel_f64(m, a, b); }

static inline vmd vmd_and(vmd a, vmd b) { return svand_b_z(simd_all_f64(), a, b); }
static inline vmd vmd_or(vmd a, vmd b) { return svorr_b_z(simd_all_f64(), a, b); }
static inline vmd vmd_xor(vmd a, vmd b) { return sveor_b_z(simd_all_f64(), a, b); }
static inline vmd vmd_not(vmd a) { return svnot_b_z(simd_all_f64(), a); }
static inline bool vmd_any(vmd a) { return svptest_any(simd_all_f64(), a); }

static inline vl vd_as_vl(vd a) { return svreinterpret_s64_f64(a); }
static inline vd vl_as_vd(vl a) { return svreinterpret_f64_s64(a); }
static inline vl vl_set1(int64_t x) { return svdup_n_s64(x); }
static inline vl vl_add(vl a, vl b) { return svadd_s64_x(simd_all_f64(), a, b); }
static inline vl vl_sub(vl a, vl b) { return svsub_s64_x(simd_all_f64(), a, b); }
static inline vl vl_and(vl a, vl b) { return svand_s64_x(simd_all_f64(), a, b); }
static inline vl vl_or(vl a, vl b) { return svorr_s64_x(simd_all_f64(), a, b); }
static inline vl vl_xor(vl a, vl b) { return sveor_s64_x(simd_all_f64(), a, b); }
static inline vl vl_shl(vl a, int n)
{
    return svlsl_s64_x(simd_all_f64(), a, svdup_n_u64((uint64_t)n));
}
static inline vl vl_shr(vl a, int n)
{
    const svuint64_t bits = svreinterpret_u64_s64(a);
    return svreinterpret_s64_u64(svlsr_u64_x(simd_all_f64(), bits, svdup_n_u64((uint64_t)n)));
}
static inline vmd vl_eq(vl a, vl b) { return svcmpeq_s64(simd_all_f64(), a, b); }

/* A float is converted from, and to, the lower half of a lane of double. */
static inline vd vd_lo(vf a) { return svcvt_f64_f32_x(simd_all_f64(), svzip1_f32(a, a)); }
static inline vd vd_hi(vf a) { return svcvt_f64_f32_x(simd_all_f64(), svzip2_f32(a, a)); }
static inline vf vf_from_vd(vd lo, vd hi)
{
    return svuzp1_f32(svcvt_f32_f64_x(simd_all_f64(), lo), svcvt_f32_f64_x(simd_all_f64(), hi));
}

static inline vmd vmd_load_u8(const uint8_t *p)
{
    return svcmpne_n_s64(simd_all_f64(), svld1ub_s64(simd_all_f64(), p), 0);
}
static inline void vmd_store_u8(uint8_t *p, vmd m)
{
    svst1b_u64(simd_all_f64(), p, svdup_n_u64_z(m, 1));
}

/* clang-format on */

#endif
