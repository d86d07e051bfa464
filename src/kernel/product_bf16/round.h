/* round.h - single values of bf16, for scalar kernels on 16-bit activations. */
#ifndef TAKT_KERNEL_PRODUCT_BF16_ROUND_H
#define TAKT_KERNEL_PRODUCT_BF16_ROUND_H

#include <stdint.h>
#include <string.h>

static inline float widen(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
}

/* Comparisons with NaN are false: it stays. */
static inline float clip(float x, float lo, float hi)
{
    x = x <= lo ? lo : x;
    return x >= hi ? hi : x;
}

#endif
