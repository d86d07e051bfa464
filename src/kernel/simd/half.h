/* half.h - half and bfloat16 to float and back in integer arithmetic: the definition of both.
 *
 * Narrowing rounds half to even; NaN keeps its sign and the payload bits that fit, and becomes
 * quiet, which is what the conversion instructions of x86 and Arm do.
 */
#ifndef TAKT_KERNEL_SIMD_HALF_H
#define TAKT_KERNEL_SIMD_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t half_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float half_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float half_from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
    if (exponent == 31)
        return half_float(sign | 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0u));
    if (exponent == 0) /* fraction * 2^-24 is exact, and carries no rounding */
        return half_float(sign | half_bits((float)fraction * 0x1p-24f));
    return half_float(sign | (exponent + 112u) << 23 | fraction << 13);
}

static inline uint16_t half_to_f16(float x)
{
    const uint32_t bits = half_bits(x), sign = bits >> 16 & 0x8000u, mag = bits & 0x7fffffffu;
    if (mag > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (mag >> 13 & 0x3ffu));
    if (mag >= 0x477ff000u) /* 65520 is halfway from 65504 to 2^16, and ties go to the even 2^16 */
        return (uint16_t)(sign | 0x7c00u);
    if (mag < 0x38800000u) /* below 2^-14: adding 1/2 leaves the bits of value * 2^24, rounded */
        return (uint16_t)(sign | (half_bits(half_float(mag) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | (mag + 0xfffu + (mag >> 13 & 1u) - (112u << 23)) >> 13);
}

static inline float half_from_bf16(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    return half_float((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : bits);
}

static inline uint16_t half_to_bf16(float x)
{
    const uint32_t bits = half_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
