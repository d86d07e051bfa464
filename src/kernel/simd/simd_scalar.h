/* simd_scalar.h - the vocabulary of simd.h with one lane: the definition of every function. */
#ifndef TAKT_KERNEL_SIMD_SIMD_SCALAR_H
#define TAKT_KERNEL_SIMD_SIMD_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernel/simd/half.h"

#define VF 1

typedef float vf;
typedef int32_t vi;
typedef bool vm;
typedef int32_t vx;

/* A table: one function a line. */
/* clang-format off */
static inline vf vf_load(const float *p) { return *p; }
static inline void vf_store(float *p, vf v) { *p = v; }
static inline vf vf_load_n(const float *p, size_t n) { return n ? *p : 0.0f; }
static inline void vf_store_n(float *p, vf v, size_t n)
{
    if (n)
        *p = v;
}
static inline vf vf_set1(float x) { return x; }
static inline vf vf_add(vf a, vf b) { return a + b; }
static inline vf vf_sub(vf a, vf b) { return a - b; }
static inline vf vf_mul(vf a, vf b) { return a * b; }
static inline vf vf_div(vf a, vf b) { return a / b; }
static inline vf vf_sqrt(vf a) { return sqrtf(a); }
static inline vf vf_fma(vf a, vf b, vf c) { return fmaf(a, b, c); }
static inline vf vf_fnma(vf a, vf b, vf c) { return fmaf(-a, b, c); }
static inline vf vf_even(vf a, vf b) { (void)b; return a; }
static inline vf vf_floor(vf a) { return floorf(a); }
static inline vf vf_ceil(vf a) { return ceilf(a); }
static inline vf vf_trunc(vf a) { return truncf(a); }
static inline vf vf_round(vf a) { return rintf(a); }

static inline vi vf_as_vi(vf a)
{
    vi r;
    memcpy(&r, &a, sizeof r);
    return r;
}
static inline vf vi_as_vf(vi a)
{
    vf r;
    memcpy(&r, &a, sizeof r);
    return r;
}

static inline vf vf_min(vf a, vf b)
{
    if (!(a == a && b == b))
        return a + b;
    if (a == b) /* only zeros of either sign differ here: the union of the bits is -0 */
        return vi_as_vf(vf_as_vi(a) | vf_as_vi(b));
    return a < b ? a : b;
}
static inline vf vf_max(vf a, vf b)
{
    if (!(a == a && b == b))
        return a + b;
    if (a == b)
        return vi_as_vf(vf_as_vi(a) & vf_as_vi(b));
    return a > b ? a : b;
}

static inline vf vf_clamp(vf a, float lo, float hi) { return a > hi ? hi : a < lo ? lo : a; }
static inline vf vf_at_most(vf a, float hi) { return a > hi ? hi : a; }
static inline vf vf_at_least(vf a, float lo) { return a < lo ? lo : a; }
/* With integers: clang turns a comparison with -0 into a maximum, which changes +0 to -0. */
static inline vf vf_rise(vf a)
{
    const uint32_t bits = (uint32_t)vf_as_vi(a), least = 0x80000000U, infinity = 0xff800000U;
    return bits > least && bits <= infinity ? -0.0f : a;
}
static inline vf vf_larger(vf a, vf b) { return a > b ? a : b; }
static inline vf vf_addend(const float *c) { return *c; }
static inline vx vf_index(vf t) { return vf_as_vi(t) & 7; }
static inline vf vf_pick(const float *table, vx i) { return table[i]; }

static inline vm vf_eq(vf a, vf b) { return a == b; }
static inline vm vf_ne(vf a, vf b) { return a != b; }
static inline vm vf_lt(vf a, vf b) { return a < b; }
static inline vm vf_le(vf a, vf b) { return a <= b; }
static inline vm vf_gt(vf a, vf b) { return a > b; }
static inline vm vf_ge(vf a, vf b) { return a >= b; }
static inline vf vf_select(vm m, vf a, vf b) { return m ? a : b; }

static inline vm vm_and(vm a, vm b) { return a && b; }
static inline vm vm_or(vm a, vm b) { return a || b; }
static inline vm vm_xor(vm a, vm b) { return a != b; }
static inline vm vm_not(vm a) { return !a; }
static inline bool vm_any(vm a) { return a; }

static inline vi vi_load(const int32_t *p) { return *p; }
static inline void vi_store(int32_t *p, vi v) { *p = v; }
static inline vi vi_load_n(const int32_t *p, size_t n) { return n ? *p : 0; }
static inline void vi_store_n(int32_t *p, vi v, size_t n)
{
    if (n)
        *p = v;
}
static inline vi vi_set1(int32_t x) { return x; }
static inline vi vi_add(vi a, vi b) { return (vi)((uint32_t)a + (uint32_t)b); }
static inline vi vi_sub(vi a, vi b) { return (vi)((uint32_t)a - (uint32_t)b); }
static inline vi vi_mul(vi a, vi b) { return (vi)((uint32_t)a * (uint32_t)b); }
static inline vi vi_and(vi a, vi b) { return a & b; }
static inline vi vi_or(vi a, vi b) { return a | b; }
static inline vi vi_xor(vi a, vi b) { return a ^ b; }
static inline vi vi_shl(vi a, int n) { return (vi)((uint32_t)a << n); }
static inline vi vi_shr(vi a, int n) { return (vi)((uint32_t)a >> n); }
static inline vi vi_sar(vi a, int n) { return a >> n; }
static inline vi vi_min(vi a, vi b) { return a < b ? a : b; }
static inline vi vi_max(vi a, vi b) { return a > b ? a : b; }
static inline vm vi_eq(vi a, vi b) { return a == b; }
static inline vm vi_gt(vi a, vi b) { return a > b; }
static inline vi vi_select(vm m, vi a, vi b) { return m ? a : b; }

static inline vf vf_from_vi(vi a) { return (float)a; }
static inline vi vi_trunc(vf a)
{
    if (!(a == a))
        return 0;
    return a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (vi)a;
}
static inline vi vi_round(vf a) { return vi_trunc(rintf(a)); }
static inline vi vi_round_fast(vf a) { return (vi)rintf(a); }

static inline vf vf_load_f16(const uint16_t *p) { return half_from_f16(*p); }
static inline void vf_store_f16(uint16_t *p, vf v) { *p = half_to_f16(v); }
static inline vf vf_load_bf16(const uint16_t *p) { return half_from_bf16(*p); }
static inline void vf_store_bf16(uint16_t *p, vf v) { *p = half_to_bf16(v); }

static inline vi vi_load_i8(const int8_t *p) { return *p; }
static inline vi vi_load_u8(const uint8_t *p) { return *p; }
static inline vi vi_load_i16(const int16_t *p) { return *p; }
static inline vi vi_load_u16(const uint16_t *p) { return *p; }
static inline void vi_store_u8(uint8_t *p, vi v) { *p = (uint8_t)v; }
static inline void vi_store_u16(uint16_t *p, vi v) { *p = (uint16_t)v; }

static inline vm vm_load_u8(const uint8_t *p) { return *p != 0; }
static inline void vm_store_u8(uint8_t *p, vm m) { *p = m; }

/* clang-format on */

#endif
