/* depthwise_i8.h - contract of the depthwise convolution of bytes: taps found, channels last.
 *
 *     acc[p,c] = bias[c] + sum over k < taps of spots[p].x[k][spots[p].at + c] * w[k][c]
 *                                                                               modulo 2^32
 *     y[p,c] = requant(acc), as gemm_i8.h has it, whose bias it is
 *
 * Neighbouring positions without padding share the places of their taps, and differ in `at`.
 *
 * The caller handles zero points: w has its own subtracted, taps in the padding point to bytes of
 * x's zero point, and x's zero point times the sum of w is subtracted from the bias.
 *
 *   bits       every variant equals scalar
 *   alignment  none beyond that of the types
 *   reads      exactly channels bytes of each tap, w or w_dot and w_sum, and bias and scale where
 *              given
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_DEPTHWISE_I8_H
#define TAKT_KERNEL_DEPTHWISE_I8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/gemm_i8/gemm_i8.h"
#include "kernel/kernel.h"

/* Where a position reads: the channels of tap k are at x[k] + at. */
typedef struct takt_depthwise_spot {
    const uint8_t *const *x; /* [taps] */
    size_t at;
} takt_depthwise_spot;

typedef struct takt_depthwise_i8 {
    size_t positions, taps, channels;
    const takt_depthwise_spot *spots; /* [positions] */
    bool x_unsigned;
    const int16_t *w; /* [taps][channels], each in [-255, 255] */
    /* The same for dot products of four taps: [ceil(taps/4)][channels][4], zero where there is no
     * tap, and the sum of each channel; NULL where a weight does not fit into 8 bits. */
    const int8_t *w_dot;
    const int32_t *w_sum;
    const takt_requant *requant;
    void *y; /* [positions][channels] */
} takt_depthwise_i8;

typedef void takt_depthwise_i8_fn(const takt_depthwise_i8 *d);

TAKT_KERNEL_FAMILY(depthwise_i8, takt_depthwise_i8_fn)

/* AVX-512 without dot products, for what its variant with them leaves out. */
void takt_depthwise_i8_pairs(const takt_depthwise_i8 *d);

#endif
