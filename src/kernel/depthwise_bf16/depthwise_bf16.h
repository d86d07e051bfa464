/* depthwise_bf16.h - contract of some output rows of a depthwise convolution of bf16, channels
 * last.
 *
 *     y[l][q][c] = bf16(minimum(maximum(bias[c] + sum over i < rows, j < taps of
 *                      x[l*x_step + i][q*stride + j*dilation - before][c] * w[i][j][c], lo), hi))
 *
 *   error      before it is rounded to bf16, the result is within (rows * taps + 1) * 2^-23 of the
 *              sum of |bias| and |x * w|; halves may be rounded away from zero
 *   padding    positions outside [0, width) and rows that are NULL are zeros, multiplied
 *   special    NaN and infinities as IEEE 754 has them; a NaN stays NaN in lo and hi, too
 *   reads      exactly x, w, bias and zeros[channels]; writes exactly y[lines][columns][channels]
 *              and room[channels]
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_DEPTHWISE_BF16_H
#define TAKT_KERNEL_DEPTHWISE_BF16_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

enum { TAKT_DEPTHWISE_BF16_TAPS = 64 }; /* rows * taps at most */

typedef struct takt_depthwise_bf16 {
    size_t lines;             /* of y: rows that follow each other in memory */
    size_t x_step;            /* rows of x from one line to the next */
    size_t channels, columns; /* of y */
    size_t width;             /* positions of a row of x */
    size_t rows, taps;        /* the kernel: rows of x, and taps in each */
    size_t stride, dilation, before;
    const uint16_t *const *x; /* (lines-1)*x_step + rows rows of [width][channels], or NULL */
    const uint16_t *zeros;    /* [channels] of +0 */
    const uint16_t *w;        /* [rows][taps][channels] */
    const float *bias;        /* [channels], with 16 bits of 0 at the end of every NaN; or NULL */
    float lo, hi;
    uint16_t *y;
    uint16_t *room; /* [channels]: for results that are discarded */
} takt_depthwise_bf16;

typedef void takt_depthwise_bf16_fn(const takt_depthwise_bf16 *d);

TAKT_KERNEL_FAMILY(depthwise_bf16, takt_depthwise_bf16_fn)

/* Where tap j of output column `q` reads row i. */
static inline const uint16_t *takt_depthwise_bf16_at(const takt_depthwise_bf16 *d, size_t i,
                                                     size_t q, size_t j)
{
    const size_t padded = q * d->stride + j * d->dilation;
    if (d->x[i] == NULL || padded < d->before || padded - d->before >= d->width)
        return d->zeros;
    return d->x[i] + (padded - d->before) * d->channels;
}

#endif
