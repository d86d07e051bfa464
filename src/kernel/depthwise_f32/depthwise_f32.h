/* depthwise_f32.h - contract of some output rows of a depthwise convolution, channels last.
 *
 *     y[l][q][c] = end(sum over i < rows, j < taps of
 *                      x[l*x_step + i][q*stride + j*dilation - before][c] * w[i][j][c])
 *
 *   order      taps (i, j) row-major in chunks of TAKT_GEMM_CHUNK; in a chunk acc = +0, then
 *              acc = fma(x, w, acc); the first chunk is stored, later ones are added in order
 *   padding    positions outside [0, width) and rows that are NULL are zeros, multiplied
 *   end        x = x + bias[c] unless bias is NULL; then, if `relu`, x < 0 ? +0 : x and
 *              minimum(x, limit); or, if `clips`, minimum(maximum(x, lo), limit)
 *   alignment  none beyond that of float
 *   reads      exactly x, w, bias and zeros[9][channels]
 *   writes     exactly y[lines][columns][channels]
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_DEPTHWISE_F32_H
#define TAKT_KERNEL_DEPTHWISE_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

/* Columns of x that four outputs of three taps with stride 2 read. */
enum { TAKT_DEPTHWISE_ZEROS = 9 };

typedef struct takt_depthwise_f32 {
    size_t lines;             /* of y: rows that follow each other in memory */
    size_t x_step;            /* rows of x from one line to the next */
    size_t channels, columns; /* of y */
    size_t width;             /* positions of a row of x */
    size_t rows, taps;        /* the kernel: rows of x, and taps in each */
    size_t stride, dilation, before;
    const float *const *x; /* (lines-1)*x_step + rows rows of [width][channels], or NULL */
    const float *zeros;    /* [TAKT_DEPTHWISE_ZEROS][channels] of +0 */
    const float *w;        /* [rows][taps][channels] */
    const float *bias;     /* [channels], or NULL */
    bool relu, clips;      /* at most one of them */
    float limit;           /* infinite: none */
    float lo;              /* neither is NaN */
    float *y;
} takt_depthwise_f32;

typedef void takt_depthwise_f32_fn(const takt_depthwise_f32 *d);

/* takt_kernel.info of this family. */
typedef struct takt_depthwise_f32_info {
    size_t lines; /* fastest number of lines: they share reads */
} takt_depthwise_f32_info;

TAKT_KERNEL_FAMILY(depthwise_f32, takt_depthwise_f32_fn)

#endif
