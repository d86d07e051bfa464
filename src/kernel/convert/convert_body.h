/* convert_body.h - the conversions that models meet often, in vectors; the rest element by element.
 *
 * Integers to integers are plain C, which the compiler vectorises.
 */
#include "kernel/convert/convert.h"
#include "kernel/simd/simd.h"

typedef void pair_fn(void *dst, const void *src, size_t n);

static inline vf load_i8(const int8_t *p)
{
    return vf_from_vi(vi_load_i8(p));
}
static inline vf load_i8_n(const int8_t *p, size_t n)
{
    return vf_from_vi(vi_load_i8_n(p, n));
}
static inline vf load_u8(const uint8_t *p)
{
    return vf_from_vi(vi_load_u8(p));
}
static inline vf load_u8_n(const uint8_t *p, size_t n)
{
    return vf_from_vi(vi_load_u8_n(p, n));
}
static inline vf load_i16(const int16_t *p)
{
    return vf_from_vi(vi_load_i16(p));
}
static inline vf load_i16_n(const int16_t *p, size_t n)
{
    return vf_from_vi(vi_load_i16_n(p, n));
}
static inline vf load_u16(const uint16_t *p)
{
    return vf_from_vi(vi_load_u16(p));
}
static inline vf load_u16_n(const uint16_t *p, size_t n)
{
    return vf_from_vi(vi_load_u16_n(p, n));
}
static inline vf load_i32(const int32_t *p)
{
    return vf_from_vi(vi_load(p));
}
static inline vf load_i32_n(const int32_t *p, size_t n)
{
    return vf_from_vi(vi_load_n(p, n));
}

static inline vi clamp(vf v, int32_t low, int32_t high)
{
    return vi_min(vi_max(vi_trunc(v), vi_set1(low)), vi_set1(high));
}
static inline void store_i8(int8_t *p, vf v)
{
    vi_store_u8((uint8_t *)p, clamp(v, -128, 127));
}
static inline void store_i8_n(int8_t *p, vf v, size_t n)
{
    vi_store_u8_n((uint8_t *)p, clamp(v, -128, 127), n);
}
static inline void store_u8(uint8_t *p, vf v)
{
    vi_store_u8(p, clamp(v, 0, 255));
}
static inline void store_u8_n(uint8_t *p, vf v, size_t n)
{
    vi_store_u8_n(p, clamp(v, 0, 255), n);
}
static inline void store_i16(int16_t *p, vf v)
{
    vi_store_u16((uint16_t *)p, clamp(v, -32768, 32767));
}
static inline void store_i16_n(int16_t *p, vf v, size_t n)
{
    vi_store_u16_n((uint16_t *)p, clamp(v, -32768, 32767), n);
}
static inline void store_u16(uint16_t *p, vf v)
{
    vi_store_u16(p, clamp(v, 0, 65535));
}
static inline void store_u16_n(uint16_t *p, vf v, size_t n)
{
    vi_store_u16_n(p, clamp(v, 0, 65535), n);
}
static inline void store_i32(int32_t *p, vf v)
{
    vi_store(p, vi_trunc(v));
}
static inline void store_i32_n(int32_t *p, vf v, size_t n)
{
    vi_store_n(p, vi_trunc(v), n);
}

#define FLOAT_PAIRS(X)                                                                             \
    X(F32, float, vf_store, F32, float, vf_load)                                                   \
    X(F32, float, vf_store, F16, uint16_t, vf_load_f16)                                            \
    X(F32, float, vf_store, BF16, uint16_t, vf_load_bf16)                                          \
    X(F32, float, vf_store, I8, int8_t, load_i8)                                                   \
    X(F32, float, vf_store, U8, uint8_t, load_u8)                                                  \
    X(F32, float, vf_store, I16, int16_t, load_i16)                                                \
    X(F32, float, vf_store, U16, uint16_t, load_u16)                                               \
    X(F32, float, vf_store, I32, int32_t, load_i32)                                                \
    X(F16, uint16_t, vf_store_f16, F32, float, vf_load)                                            \
    X(BF16, uint16_t, vf_store_bf16, F32, float, vf_load)                                          \
    X(I8, int8_t, store_i8, F32, float, vf_load)                                                   \
    X(U8, uint8_t, store_u8, F32, float, vf_load)                                                  \
    X(I16, int16_t, store_i16, F32, float, vf_load)                                                \
    X(U16, uint16_t, store_u16, F32, float, vf_load)                                               \
    X(I32, int32_t, store_i32, F32, float, vf_load)                                                \
    X(BF16, uint16_t, vf_store_bf16, F16, uint16_t, vf_load_f16)                                   \
    X(F16, uint16_t, vf_store_f16, BF16, uint16_t, vf_load_bf16)

#define X(TO, D, put, FROM, S, get)                                                                \
    static void TO##_from_##FROM(void *dst, const void *src, size_t n)                             \
    {                                                                                              \
        D *d = dst;                                                                                \
        const S *s = src;                                                                          \
        size_t i = 0;                                                                              \
        for (; i + 4 * VF <= n; i += 4 * VF) {                                                     \
            const vf a = get(s + i), b = get(s + i + VF);                                          \
            const vf c = get(s + i + 2 * VF), e = get(s + i + 3 * VF);                             \
            put(d + i, a);                                                                         \
            put(d + i + VF, b);                                                                    \
            put(d + i + 2 * VF, c);                                                                \
            put(d + i + 3 * VF, e);                                                                \
        }                                                                                          \
        for (; i + VF <= n; i += VF)                                                               \
            put(d + i, get(s + i));                                                                \
        put##_n(d + i, get##_n(s + i, n - i), n - i);                                              \
    }
FLOAT_PAIRS(X)
#undef X

static void F64_from_F32(void *dst, const void *src, size_t n)
{
    double *d = dst;
    const float *s = src;
    size_t i = 0;
    for (; i + VF <= n; i += VF) {
        const vf v = vf_load(s + i);
        vd_store(d + i, vd_lo(v));
        vd_store(d + i + VF - VD, vd_hi(v));
    }
    for (; i < n; i++)
        d[i] = (double)s[i];
}

static void F32_from_F64(void *dst, const void *src, size_t n)
{
    float *d = dst;
    const double *s = src;
    size_t i = 0;
    for (; i + VF <= n; i += VF)
        vf_store(d + i, vf_from_vd(vd_load(s + i), vd_load(s + i + VF - VD)));
    for (; i < n; i++)
        d[i] = (float)s[i];
}

/* Wrapping keeps low bits, so only the size of the result matters. */
#define INT_SOURCES(X, TO, D)                                                                      \
    X(TO, D, I8, int8_t)                                                                           \
    X(TO, D, I16, int16_t)                                                                         \
    X(TO, D, I32, int32_t)                                                                         \
    X(TO, D, I64, int64_t)                                                                         \
    X(TO, D, U8, uint8_t)                                                                          \
    X(TO, D, U16, uint16_t)                                                                        \
    X(TO, D, U32, uint32_t)                                                                        \
    X(TO, D, U64, uint64_t)
#define INT_PAIRS(X)                                                                               \
    INT_SOURCES(X, U8, uint8_t)                                                                    \
    INT_SOURCES(X, U16, uint16_t)                                                                  \
    INT_SOURCES(X, U32, uint32_t)                                                                  \
    INT_SOURCES(X, U64, uint64_t)

#define X(TO, D, FROM, S)                                                                          \
    static void TO##_from_##FROM(void *restrict dst, const void *restrict src, size_t n)           \
    {                                                                                              \
        D *d = dst;                                                                                \
        const S *s = src;                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            d[i] = (D)s[i];                                                                        \
    }
INT_PAIRS(X)
#undef X

#define BOOL_PAIRS(X)                                                                              \
    X(F32, float)                                                                                  \
    X(U8, uint8_t)                                                                                 \
    X(I32, int32_t)                                                                                \
    X(U32, uint32_t)                                                                               \
    X(I64, int64_t)
#define X(NAME, S)                                                                                 \
    static void BOOL_from_##NAME(void *restrict dst, const void *restrict src, size_t n)           \
    {                                                                                              \
        uint8_t *d = dst;                                                                          \
        const S *s = src;                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            d[i] = s[i] != 0;                                                                      \
    }                                                                                              \
    static void NAME##_from_BOOL(void *restrict dst, const void *restrict src, size_t n)           \
    {                                                                                              \
        S *d = dst;                                                                                \
        const uint8_t *s = src;                                                                    \
        for (size_t i = 0; i < n; i++)                                                             \
            d[i] = (S)(s[i] != 0);                                                                 \
    }
BOOL_PAIRS(X)
#undef X

/* U8 stands for I8 as a result, and so on. */
#define SAME_BITS(TO, SIGNED_TO, FROM)                                                             \
    [TAKT_##TO][TAKT_##FROM] = TO##_from_##FROM, [TAKT_##SIGNED_TO][TAKT_##FROM] = TO##_from_##FROM,
#define INT_ROW(TO, SIGNED_TO)                                                                     \
    SAME_BITS(TO, SIGNED_TO, I8)                                                                   \
    SAME_BITS(TO, SIGNED_TO, I16)                                                                  \
    SAME_BITS(TO, SIGNED_TO, I32)                                                                  \
    SAME_BITS(TO, SIGNED_TO, I64)                                                                  \
    SAME_BITS(TO, SIGNED_TO, U8)                                                                   \
    SAME_BITS(TO, SIGNED_TO, U16)                                                                  \
    SAME_BITS(TO, SIGNED_TO, U32)                                                                  \
    SAME_BITS(TO, SIGNED_TO, U64)

static pair_fn *const pairs[TAKT_DTYPE_COUNT][TAKT_DTYPE_COUNT] = {
#define X(TO, D, put, FROM, S, get) [TAKT_##TO][TAKT_##FROM] = TO##_from_##FROM,
    FLOAT_PAIRS(X)
#undef X
#define X(NAME, S)                                                                                 \
    [TAKT_BOOL][TAKT_##NAME] = BOOL_from_##NAME, [TAKT_##NAME][TAKT_BOOL] = NAME##_from_BOOL,
        BOOL_PAIRS(X)
#undef X
            INT_ROW(U8, I8) INT_ROW(U16, I16) INT_ROW(U32, I32)
                INT_ROW(U64, I64)[TAKT_F64][TAKT_F32] = F64_from_F32,
    [TAKT_F32][TAKT_F64] = F32_from_F64,
};

static void convert(const takt_convert *c, void *dst, const void *src, size_t n)
{
    pair_fn *pair = pairs[c->to][c->from];
    if (pair != NULL)
        pair(dst, src, n);
    else
        takt_convert_any(c, dst, src, n);
}

#ifndef CONVERT_NAME
#define CONVERT_NAME SIMD_NAME
#define CONVERT_RANK SIMD_RANK
#endif

TAKT_KERNELS(convert, TAKT_KERNEL(convert, CONVERT_NAME, CONVERT_RANK, convert, NULL));
