/* depthwise_f32.h - contract of one output row of a depthwise convolution, channels last.
 *
 *     y[q][c] = end(sum over i < rows, j < taps of x[i][q*stride + j*dilation - before][c] *
 * w[i][j][c])
 *
 *   order      taps (i, j) row-major in chunks of TAKT_GEMM_CHUNK; in a chunk acc = +0, then
 *              acc = fma(x, w, acc); the first chunk is stored, later ones are added in order
 *   padding    positions outside [0, width) and rows that are NULL are zeros, multiplied
 *   end        x = x + bias[c] unless bias is NULL; then, if `relu`, x < 0 ? +0 : x and
 *              minimum(x, limit)
 *   alignment  none beyond that of float
 *   reads      exactly x, w, bias and zeros[channels]; writes exactly y[columns][channels]
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_DEPTHWISE_F32_H
#define TAKT_KERNEL_DEPTHWISE_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_depthwise_f32 {
    size_t channels, columns; /* of y */
    size_t width;             /* positions of a row of x */
    size_t rows, taps;        /* the kernel: rows of x, and taps in each */
    size_t stride, dilation, before;
    const float *const *x; /* `rows` rows of [width][channels], or NULL */
    const float *zeros;    /* [channels] of +0 */
    const float *w;        /* [rows][taps][channels] */
    const float *bias;     /* [channels], or NULL */
    bool relu;
    float limit; /* infinite: none */
    float *y;
} takt_depthwise_f32;

typedef void takt_depthwise_f32_fn(const takt_depthwise_f32 *d);

TAKT_KERNEL_FAMILY(depthwise_f32, takt_depthwise_f32_fn)

#endif
