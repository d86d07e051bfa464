/* simd_scalar_f64.h - doubles of the one-lane set. */
#ifndef TAKT_KERNEL_SIMD_SIMD_SCALAR_F64_H
#define TAKT_KERNEL_SIMD_SIMD_SCALAR_F64_H

#include "kernel/simd/simd_scalar.h"

#define VD 1

typedef double vd;
typedef int64_t vl;
typedef bool vmd;

/* A table: one function a line. */
/* clang-format off */
static inline vd vd_load(const double *p) { return *p; }
static inline void vd_store(double *p, vd v) { *p = v; }
static inline vd vd_load_n(const double *p, size_t n) { return n ? *p : 0.0; }
static inline void vd_store_n(double *p, vd v, size_t n)
{
    if (n)
        *p = v;
}
static inline vd vd_set1(double x) { return x; }
static inline vd vd_add(vd a, vd b) { return a + b; }
static inline vd vd_sub(vd a, vd b) { return a - b; }
static inline vd vd_mul(vd a, vd b) { return a * b; }
static inline vd vd_div(vd a, vd b) { return a / b; }
static inline vd vd_sqrt(vd a) { return sqrt(a); }
static inline vd vd_fma(vd a, vd b, vd c) { return fma(a, b, c); }
static inline vd vd_fnma(vd a, vd b, vd c) { return fma(-a, b, c); }
static inline vd vd_floor(vd a) { return floor(a); }
static inline vd vd_ceil(vd a) { return ceil(a); }
static inline vd vd_trunc(vd a) { return trunc(a); }
static inline vd vd_round(vd a) { return rint(a); }

static inline vl vd_as_vl(vd a)
{
    vl r;
    memcpy(&r, &a, sizeof r);
    return r;
}
static inline vd vl_as_vd(vl a)
{
    vd r;
    memcpy(&r, &a, sizeof r);
    return r;
}

static inline vd vd_min(vd a, vd b)
{
    if (!(a == a && b == b))
        return a + b;
    if (a == b)
        return vl_as_vd(vd_as_vl(a) | vd_as_vl(b));
    return a < b ? a : b;
}
static inline vd vd_larger(vd a, vd b) { return a > b ? a : b; }
static inline vd vd_max(vd a, vd b)
{
    if (!(a == a && b == b))
        return a + b;
    if (a == b)
        return vl_as_vd(vd_as_vl(a) & vd_as_vl(b));
    return a > b ? a : b;
}

static inline vmd vd_eq(vd a, vd b) { return a == b; }
static inline vmd vd_ne(vd a, vd b) { return a != b; }
static inline vmd vd_lt(vd a, vd b) { return a < b; }
static inline vmd vd_le(vd a, vd b) { return a <= b; }
static inline vmd vd_gt(vd a, vd b) { return a > b; }
static inline vmd vd_ge(vd a, vd b) { return a >= b; }
static inline vd vd_select(vmd m, vd a, vd b) { return m ? a : b; }

static inline vmd vmd_and(vmd a, vmd b) { return a && b; }
static inline vmd vmd_or(vmd a, vmd b) { return a || b; }
static inline vmd vmd_xor(vmd a, vmd b) { return a != b; }
static inline vmd vmd_not(vmd a) { return !a; }
static inline bool vmd_any(vmd a) { return a; }

static inline vl vl_set1(int64_t x) { return x; }
static inline vl vl_add(vl a, vl b) { return (vl)((uint64_t)a + (uint64_t)b); }
static inline vl vl_sub(vl a, vl b) { return (vl)((uint64_t)a - (uint64_t)b); }
static inline vl vl_and(vl a, vl b) { return a & b; }
static inline vl vl_or(vl a, vl b) { return a | b; }
static inline vl vl_xor(vl a, vl b) { return a ^ b; }
static inline vl vl_shl(vl a, int n) { return (vl)((uint64_t)a << n); }
static inline vl vl_shr(vl a, int n) { return (vl)((uint64_t)a >> n); }
static inline vmd vl_eq(vl a, vl b) { return a == b; }

static inline vd vd_lo(vf a) { return (double)a; }
static inline vd vd_hi(vf a) { return (double)a; }
static inline vf vf_from_vd(vd lo, vd hi)
{
    (void)hi;
    return (float)lo;
}

static inline vmd vmd_load_u8(const uint8_t *p) { return *p != 0; }
static inline void vmd_store_u8(uint8_t *p, vmd m) { *p = m; }

/* clang-format on */

#endif
