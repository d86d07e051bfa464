/* gelu_dx_f32.h - contract of the gradient of gelu, x times the normal distribution function.
 *
 *     level = (erf(x[i] * root_half) + 1) * half
 *     rise  = exp(x[i] * x[i] * minus_half) * density
 *     to[i] = dy[i] * (level + x[i] * rise)
 *
 *   order      every operation is rounded by itself, from left to right: no fused multiply-add;
 *              erf and exp are those of map_f32
 *   range      minus_half is at most 0
 *   bits       equal in every variant, NaN payloads apart
 *   aliasing   `to` may be exactly x or dy; no other overlap
 *   reads      exactly n floats of x and dy; no alignment
 *   writes     exactly n floats of the result
 */
#ifndef TAKT_KERNEL_GELU_DX_F32_H
#define TAKT_KERNEL_GELU_DX_F32_H

#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_gelu_dx_f32 {
    size_t n;
    const float *x, *dy;
    float *to;
    float root_half, half, minus_half, density; /* sqrt(1/2), 1/2, -1/2, 1/sqrt(2 pi) */
    float one;
} takt_gelu_dx_f32;

typedef void takt_gelu_dx_f32_fn(const takt_gelu_dx_f32 *g);

TAKT_KERNEL_FAMILY(gelu_dx_f32, takt_gelu_dx_f32_fn)

#endif
