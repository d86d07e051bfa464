/* affine_f32.h - contract of quantising floats to bytes, bytes to floats, and bytes to bytes.
 *
 *   QUANTISE    q = x / scale, rounded to f32; r = q rounded half to even, 0 if q is NaN;
 *               y = r + zero, saturated to the type
 *   AWAY        q = x / scale, or x * scale if is_product, rounded to f32; r = q rounded, halves
 *               away from zero, 0 if q is NaN; y = r + zero, saturated to [lo, hi]
 *   DEQUANTISE  y = (x - zero) * scale
 *   LOOK_UP     y = table[x], bytes as they are
 *
 *   bits        every variant equals scalar
 *   alignment   none beyond that of the types
 *   reads       exactly x[n], and table[256]
 *   aliasing    y overlaps no operand, but LOOK_UP may have y = x
 */
#ifndef TAKT_KERNEL_AFFINE_F32_H
#define TAKT_KERNEL_AFFINE_F32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

typedef enum takt_affine_kind {
    TAKT_AFFINE_QUANTISE,
    TAKT_AFFINE_DEQUANTISE,
    TAKT_AFFINE_LOOK_UP,
    TAKT_AFFINE_AWAY,
} takt_affine_kind;

typedef struct takt_affine_f32 {
    takt_affine_kind kind;
    bool is_unsigned; /* the bytes */
    const void *x;
    void *y;
    size_t n;
    float scale;
    int32_t zero;         /* a value of the bytes' type */
    const uint8_t *table; /* for LOOK_UP */
    bool is_product;      /* for AWAY */
    int32_t lo, hi;       /* for AWAY: inside the bytes' type */
} takt_affine_f32;

typedef void takt_affine_f32_fn(const takt_affine_f32 *a);

TAKT_KERNEL_FAMILY(affine_f32, takt_affine_f32_fn)

#endif
