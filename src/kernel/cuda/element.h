/* element.h - elements of every type as device code sees them: words of a few compute types.
 *
 * Values are computed in f64, f32, i64, i32, u64, u32 or bool: narrow floats in f32, narrow
 * integers in 32 bits. A word holds the value's bits, in its low half if the type has 32.
 * Conversions are those of kernel/convert: rounded once, half to even.
 */
#ifndef TAKT_KERNEL_CUDA_ELEMENT_H
#define TAKT_KERNEL_CUDA_ELEMENT_H

#include <takt/tensor.h>

#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.h"

typedef uint64_t word;

/* The type that values of `dtype` are computed in. */
DEVICE uint8_t compute_of(uint8_t dtype)
{
    switch (dtype) {
    case TAKT_F64:
    case TAKT_I64:
    case TAKT_U64:
    case TAKT_BOOL: return dtype;
    case TAKT_I32:
    case TAKT_I16:
    case TAKT_I8: return TAKT_I32;
    case TAKT_U32:
    case TAKT_U16:
    case TAKT_U8: return TAKT_U32;
    default: return TAKT_F32;
    }
}

DEVICE double f64_of(word w)
{
    return vl_as_vd((vl)w);
}
DEVICE float f32_of(word w)
{
    return vi_as_vf((vi)(uint32_t)w);
}
DEVICE word word_of_f64(double x)
{
    return (word)vd_as_vl(x);
}
DEVICE word word_of_f32(float x)
{
    return (uint32_t)vf_as_vi(x);
}

DEVICE word widened_signed(int32_t x)
{
    const uint32_t bits = (uint32_t)x;
    return bits;
}

/* ---- narrow floats ---- */

/* Sign, exponent and mantissa; codes are without the sign, finite ones up to `largest`. */
typedef struct narrow {
    int32_t mantissa_bits, bias;
    uint32_t sign, largest, infinity, nan; /* 0: the format has none */
} narrow;

DEVICE narrow narrow_of(uint8_t dtype)
{
    narrow f = {10, 15, 0x8000, 0x7BFF, 0x7C00, 0x7E00};
    const narrow bf16 = {7, 127, 0x8000, 0x7F7F, 0x7F80, 0x7FC0};
    const narrow e4m3fn = {3, 7, 0x80, 0x7E, 0, 0x7F}, e4m3fnuz = {3, 8, 0x80, 0x7F, 0, 0x80};
    const narrow e5m2 = {2, 15, 0x80, 0x7B, 0x7C, 0x7E}, e5m2fnuz = {2, 16, 0x80, 0x7F, 0, 0x80};
    switch (dtype) {
    case TAKT_F16: return f;
    case TAKT_BF16: return bf16;
    case TAKT_F8E4M3FN: return e4m3fn;
    case TAKT_F8E4M3FNUZ: return e4m3fnuz;
    case TAKT_F8E5M2: return e5m2;
    default: return e5m2fnuz;
    }
}

/* 2^e, normal. */
DEVICE double power_of(int32_t e)
{
    return f64_of((uint64_t)(e + 1023) << 52);
}

DEVICE double decoded(uint8_t dtype, uint32_t bits)
{
    if (dtype == TAKT_F8E8M0)
        return bits == 0xFF ? (double)NAN : power_of((int32_t)bits - 127);
    const narrow f = narrow_of(dtype);
    const uint32_t code = bits & (f.sign - 1), one = 1U << f.mantissa_bits;
    if (code > f.largest || (f.nan == f.sign && bits == f.sign)) {
        if (f.infinity != 0 && code == f.infinity)
            return bits & f.sign ? -(double)INFINITY : (double)INFINITY;
        return (double)NAN;
    }
    const int32_t exponent = (int32_t)(code >> f.mantissa_bits);
    const uint32_t mantissa = (code & (one - 1)) + (exponent != 0 ? one : 0);
    const double size =
        mantissa * power_of((exponent != 0 ? exponent : 1) - f.bias - f.mantissa_bits);
    return bits & f.sign ? -size : size;
}

/* The code of a magnitude, rounded as if the exponent had no upper end. */
DEVICE uint64_t rounded_code(const narrow *f, uint64_t size)
{
    int32_t e = (int32_t)(size >> 52) - 1023;
    const uint64_t fraction = (size & 0xfffffffffffffULL) | 1ULL << 52;
    const int32_t lowest = 1 - f->bias;
    int32_t shift = 52 - f->mantissa_bits;
    if (e == -1023)
        return 0;
    if (e < lowest) {
        shift += lowest - e;
        e = lowest;
    }
    if (shift > 53)
        return 0;
    const uint64_t half = 1ULL << (shift - 1), rest = fraction & (2 * half - 1);
    uint64_t mantissa = fraction >> shift;
    mantissa += rest > half || (rest == half && (mantissa & 1));
    return ((uint64_t)(e + f->bias - 1) << f->mantissa_bits) + mantissa;
}

/* e8m0: a power of two, nothing else. */
DEVICE uint32_t encoded_scale(double x, bool saturate)
{
    if (x != x || x < 0)
        return 0xFF;
    if (x > 0x1.8p127)
        return saturate ? 0xFE : 0xFF;
    if (x < 0x1p-127)
        return 0;
    const uint64_t size = word_of_f64(x), fraction = size & 0xfffffffffffffULL;
    const uint32_t low = (uint32_t)((int32_t)(size >> 52) - 1023 + 127);
    const uint64_t half = 1ULL << 51;
    const uint32_t code = low + (fraction > half || (fraction == half && (low & 1)));
    return code <= 0xFE ? code : saturate ? 0xFE : 0xFF;
}

/* Only types of 8 bits saturate. */
DEVICE uint32_t encoded(uint8_t dtype, double x, bool saturate)
{
    if (dtype == TAKT_F8E8M0)
        return encoded_scale(x, saturate);
    const narrow f = narrow_of(dtype);
    if (x != x)
        return f.nan;
    const uint64_t bits = word_of_f64(x), size = bits & (UINT64_MAX >> 1);
    const uint32_t sign = bits >> 63 ? f.sign : 0;
    const bool is_infinite = size == 0x7ffULL << 52;
    const uint64_t code = is_infinite ? UINT64_MAX : rounded_code(&f, size);
    if (code <= f.largest)
        return code == 0 && f.nan == f.sign ? 0 : sign | (uint32_t)code;
    if (saturate && f.sign == 0x80 && (!is_infinite || f.nan != f.sign))
        return sign | f.largest;
    if (f.infinity != 0)
        return sign | f.infinity;
    return f.nan != f.sign ? sign | f.nan : f.nan;
}

/* ---- memory ---- */

/* Element `at` of an array of `dtype`, as a word of its compute type. */
DEVICE word loaded(uint8_t dtype, const void *data, int64_t at)
{
    switch (dtype) {
    case TAKT_F64:
    case TAKT_I64:
    case TAKT_U64: return ((const uint64_t *)data)[at];
    case TAKT_F32:
    case TAKT_I32:
    case TAKT_U32: return ((const uint32_t *)data)[at];
    case TAKT_I16: return widened_signed(((const int16_t *)data)[at]);
    case TAKT_U16: return ((const uint16_t *)data)[at];
    case TAKT_I8: return widened_signed(((const int8_t *)data)[at]);
    case TAKT_U8: return ((const uint8_t *)data)[at];
    case TAKT_BOOL: return ((const uint8_t *)data)[at] != 0;
    case TAKT_BF16: return (uint64_t)((const uint16_t *)data)[at] << 16;
    case TAKT_F16: return word_of_f32((float)decoded(dtype, ((const uint16_t *)data)[at]));
    default: return word_of_f32((float)decoded(dtype, ((const uint8_t *)data)[at]));
    }
}

/* The bits of an element, which `narrowed` made. */
DEVICE void stored(uint8_t dtype, void *data, int64_t at, word bits)
{
    switch (dtype) {
    case TAKT_F64:
    case TAKT_I64:
    case TAKT_U64: ((uint64_t *)data)[at] = bits; break;
    case TAKT_F32:
    case TAKT_I32:
    case TAKT_U32: ((uint32_t *)data)[at] = (uint32_t)bits; break;
    case TAKT_F16:
    case TAKT_BF16:
    case TAKT_I16:
    case TAKT_U16: ((uint16_t *)data)[at] = (uint16_t)bits; break;
    default: ((uint8_t *)data)[at] = (uint8_t)bits; break;
    }
}

/* ---- conversions ---- */

/* Bits of an element of `dtype` as a word of its compute type. */
DEVICE word widened(uint8_t dtype, word bits)
{
    switch (dtype) {
    case TAKT_I16: return widened_signed((int16_t)bits);
    case TAKT_I8: return widened_signed((int8_t)bits);
    case TAKT_U16: return (uint16_t)bits;
    case TAKT_U8: return (uint8_t)bits;
    case TAKT_BF16: return (uint64_t)(uint16_t)bits << 16;
    case TAKT_F64:
    case TAKT_I64:
    case TAKT_U64:
    case TAKT_F32:
    case TAKT_I32:
    case TAKT_U32:
    case TAKT_BOOL: return bits;
    default: return word_of_f32((float)decoded(dtype, (uint32_t)bits));
    }
}

DEVICE word bits_of_float(uint8_t to, double x, bool saturate)
{
    return to == TAKT_F64   ? word_of_f64(x)
           : to == TAKT_F32 ? word_of_f32((float)x)
                            : encoded(to, x, saturate);
}

/* Towards 0, to the nearest that there is; NaN gives 0. */
DEVICE word truncated(uint8_t to, double x)
{
    const int32_t bits = to == TAKT_I64 || to == TAKT_U64   ? 64
                         : to == TAKT_I32 || to == TAKT_U32 ? 32
                         : to == TAKT_I16 || to == TAKT_U16 ? 16
                                                            : 8;
    if (x != x)
        return 0;
    if (to == TAKT_U64 || to == TAKT_U32 || to == TAKT_U16 || to == TAKT_U8)
        return x <= 0 ? 0 : x >= power_of(bits) ? UINT64_MAX >> (64 - bits) : (uint64_t)x;
    const int64_t top = INT64_MAX >> (64 - bits);
    if (x >= power_of(bits - 1))
        return (uint64_t)top;
    return x <= -power_of(bits - 1) ? (uint64_t)(-top - 1) : (uint64_t)(int64_t)x;
}

/* A double that every narrower float rounds as it would the integer itself. */
DEVICE double double_of(uint8_t from, uint8_t to, word w)
{
    const uint64_t value = from == TAKT_I32 ? (uint64_t)(int64_t)(int32_t)(uint32_t)w : w;
    const bool is_negative = (from == TAKT_I32 || from == TAKT_I64) && value >> 63;
    uint64_t size = is_negative ? 0 - value : value;
    if (to != TAKT_F64 && size >> 53 != 0)
        size = (size & ~0x7ffULL) | ((size & 0x7ffULL) != 0 ? 0x800 : 0);
    return is_negative ? -(double)size : (double)size;
}

/* A word of compute type `from` as the bits of an element of `to`. */
DEVICE word narrowed(uint8_t to, uint8_t from, bool saturate, word w)
{
    const bool to_float = compute_of(to) == TAKT_F64 || compute_of(to) == TAKT_F32;
    if (to == from)
        return w;
    if (from == TAKT_F64 || from == TAKT_F32) {
        const double x = from == TAKT_F64 ? f64_of(w) : (double)f32_of(w);
        return to_float          ? bits_of_float(to, x, saturate)
               : to == TAKT_BOOL ? x != 0
                                 : truncated(to, x);
    }
    if (to_float)
        return bits_of_float(to, double_of(from, to, w), saturate);
    if (to == TAKT_BOOL)
        return w != 0;
    return from == TAKT_I32 ? (uint64_t)(int64_t)(int32_t)(uint32_t)w : w;
}

#endif
