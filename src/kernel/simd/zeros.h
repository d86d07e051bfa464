/* zeros.h - whether some of many floats are -0. */
#ifndef TAKT_KERNEL_SIMD_ZEROS_H
#define TAKT_KERNEL_SIMD_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool takt_has_minus_zero(const float *x, size_t n)
{
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        found |= bits == UINT32_C(0x80000000);
    }
    return found != 0;
}

#endif
