/* fixed.h - a 32-bit sum times a number in fixed point, rounded twice as gemmlowp does it.
 *
 *     p = x * 2^max(shift, 0) * multiplier * 2^-31, halves towards plus infinity
 *     result = p * 2^min(shift, 0), halves away from zero
 *
 * Shifts count modulo 32; what does not fit wraps.
 */
#ifndef TAKT_KERNEL_GEMM_I8_FIXED_H
#define TAKT_KERNEL_GEMM_I8_FIXED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all n shifts go to the right, by 1 to 31, and no product can wrap: then variants skip the
 * other cases. */
static inline bool takt_fixed_goes_right(const int32_t *multiplier, const int32_t *shift, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (shift[i] >= 0 || shift[i] < -31 || multiplier[i] == INT32_MIN)
            return false;
    return true;
}

static inline __attribute__((always_inline)) int32_t
takt_fixed_scale(uint32_t x, int32_t multiplier, int32_t shift)
{
    const uint32_t left = shift > 0 ? (uint32_t)shift & 31 : 0;
    const uint32_t right = shift < 0 ? (0u - (uint32_t)shift) & 31 : 0;
    const int64_t product = (int64_t)(int32_t)(x << left) * multiplier;
    const int32_t high = (int32_t)(uint32_t)(((uint64_t)product + (1u << 30)) >> 31);
    const int32_t mask = (int32_t)((1u << right) - 1);
    const int32_t half = (mask >> 1) + (high < 0);
    return (high >> right) + ((high & mask) > half);
}

#endif
