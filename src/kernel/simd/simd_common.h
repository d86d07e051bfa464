/* simd_common.h - the part of simd.h that follows from the primitives alone. */
#ifndef TAKT_KERNEL_SIMD_SIMD_COMMON_H
#define TAKT_KERNEL_SIMD_SIMD_COMMON_H

/* A table: one function a line. */
/* clang-format off */
static inline vf vf_zero(void) { return vf_set1(0.0f); }
static inline vd vd_zero(void) { return vd_set1(0.0); }

static inline vi vf_sign(vf a) { return vi_and(vf_as_vi(a), vi_set1(INT32_MIN)); }
#ifndef SIMD_ABS
static inline vf vf_abs(vf a) { return vi_as_vf(vi_and(vf_as_vi(a), vi_set1(INT32_MAX))); }
#endif
static inline vf vf_neg(vf a) { return vi_as_vf(vi_xor(vf_as_vi(a), vi_set1(INT32_MIN))); }
#ifndef SIMD_COPYSIGN
static inline vf vf_copysign(vf mag, vf sign)
{
    return vi_as_vf(vi_or(vf_as_vi(vf_abs(mag)), vf_sign(sign)));
}
#endif
static inline vm vf_isnan(vf a) { return vf_ne(a, a); }

static inline vl vd_sign(vd a) { return vl_and(vd_as_vl(a), vl_set1(INT64_MIN)); }
static inline vd vd_abs(vd a) { return vl_as_vd(vl_and(vd_as_vl(a), vl_set1(INT64_MAX))); }
static inline vd vd_neg(vd a) { return vl_as_vd(vl_xor(vd_as_vl(a), vl_set1(INT64_MIN))); }
static inline vd vd_copysign(vd mag, vd sign)
{
    return vl_as_vd(vl_or(vd_as_vl(vd_abs(mag)), vd_sign(sign)));
}
static inline vmd vd_isnan(vd a) { return vd_ne(a, a); }

/* x < 0 ? +0 : x, so NaN and -0 pass. clang 14 turns that into fmax on aarch64, which changes -0 to
 * +0: there the comparison's result is hidden from it. */
#if TAKT_SIMD_SET == 5
#define SIMD_HIDE(mask) ((void)0) /* intrinsics of predicates: it sees no comparison in them */
#elif defined __clang__ && defined __aarch64__ && TAKT_SIMD_SET == 2
#define SIMD_HIDE(mask) __asm__("" : "+w"(mask))
#elif defined __clang__ && defined __aarch64__
#define SIMD_HIDE(mask) __asm__("" : "+r"(mask))
#else
#define SIMD_HIDE(mask) ((void)0)
#endif
#ifndef SIMD_HAS_RELU
static inline vf vf_relu(vf x)
{
    vm minus = vf_lt(x, vf_zero());
    SIMD_HIDE(minus);
    return vf_select(minus, vf_zero(), x);
}
static inline vf vf_limit(vf x, float hi) { return vf_min(x, vf_set1(hi)); }
static inline vf vf_lower(vf x, float hi) { return vf_min(x, vf_set1(hi)); }
static inline vf vf_raise(vf x, float lo) { return vf_max(x, vf_set1(lo)); }
#endif
static inline vd vd_relu(vd x)
{
    vmd minus = vd_lt(x, vd_zero());
    SIMD_HIDE(minus);
    return vd_select(minus, vd_zero(), x);
}

/* Partial forms of the narrow formats go through a buffer: tails only. */
#define SIMD_PARTIAL_LOAD(name, type, vector)                                                      \
    static inline vector name##_n(const type *p, size_t n)                                         \
    {                                                                                              \
        type t[VF] = {0};                                                                          \
        memcpy(t, p, n * sizeof *t);                                                               \
        return name(t);                                                                            \
    }
#define SIMD_PARTIAL_STORE(name, type, vector, lanes)                                              \
    static inline void name##_n(type *p, vector v, size_t n)                                       \
    {                                                                                              \
        type t[lanes];                                                                             \
        name(t, v);                                                                                \
        memcpy(p, t, n * sizeof *t);                                                               \
    }

SIMD_PARTIAL_LOAD(vf_load_f16, uint16_t, vf)
SIMD_PARTIAL_LOAD(vf_load_bf16, uint16_t, vf)
SIMD_PARTIAL_LOAD(vi_load_i8, int8_t, vi)
SIMD_PARTIAL_LOAD(vi_load_u8, uint8_t, vi)
SIMD_PARTIAL_LOAD(vi_load_i16, int16_t, vi)
SIMD_PARTIAL_LOAD(vi_load_u16, uint16_t, vi)
SIMD_PARTIAL_LOAD(vm_load_u8, uint8_t, vm)
SIMD_PARTIAL_STORE(vf_store_f16, uint16_t, vf, VF)
SIMD_PARTIAL_STORE(vf_store_bf16, uint16_t, vf, VF)
SIMD_PARTIAL_STORE(vi_store_u8, uint8_t, vi, VF)
SIMD_PARTIAL_STORE(vi_store_u16, uint16_t, vi, VF)
SIMD_PARTIAL_STORE(vm_store_u8, uint8_t, vm, VF)
SIMD_PARTIAL_STORE(vmd_store_u8, uint8_t, vmd, VD)

static inline vmd vmd_load_u8_n(const uint8_t *p, size_t n)
{
    uint8_t t[VD] = {0};
    memcpy(t, p, n);
    return vmd_load_u8(t);
}

/* Narrowing that saturates instead of wrapping, for requantisation. */
static inline void vi_store_i8_sat(int8_t *p, vi v)
{
    vi_store_u8((uint8_t *)p, vi_min(vi_max(v, vi_set1(-128)), vi_set1(127)));
}
static inline void vi_store_u8_sat(uint8_t *p, vi v)
{
    vi_store_u8(p, vi_min(vi_max(v, vi_set1(0)), vi_set1(255)));
}

/* clang-format on */

#endif
