/* pool_f32.h - contract of one output row of a pool, channels last.
 *
 *     y[q][c] = the largest, or the sum / divisor[q], of x[i][q*stride + j*dilation - before][c]
 *               over i < rows, j < taps
 *
 *   padding    positions outside [0, width) and rows that are NULL are left out
 *   order      the sum starts at +0 and adds (i, j) in row-major order; then it is divided, unless
 *              the divisor is 0: then y is +0. The largest is IEEE 754-2019 maximum: NaN wins,
 *              +0 > -0; of nothing it is -infinity
 *   alignment  none beyond that of float
 *   reads      exactly x and divisor[columns] (sums only); writes exactly y[columns][channels]
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_POOL_F32_H
#define TAKT_KERNEL_POOL_F32_H

#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_pool_f32 {
    size_t channels, columns; /* of y */
    size_t width;             /* positions of a row of x */
    size_t rows, taps;
    size_t stride, dilation, before;
    const float *const *x; /* `rows` rows of [width][channels], or NULL */
    const float *divisor;  /* [columns]; NULL: the largest is wanted */
    float *y;
} takt_pool_f32;

typedef void takt_pool_f32_fn(const takt_pool_f32 *p);

TAKT_KERNEL_FAMILY(pool_f32, takt_pool_f32_fn)

#endif
