/* gather_sum_f32.h - contract of weighted sums of gathered floats: interpolation.
 *
 *     y[r * y_plane + p * y_row + i] = sum over k of v(r, k, p, i) * weight[k * weight_tap + p]
 *
 *   v          x[r * x_plane + at[k * at_tap + p] * x_row + i], its bits masked by
 *              inside[k * at_tap + p] where `inside` is not NULL
 *   sizes      r < planes, p < places, i < inner, k < taps, taps >= 1
 *   order      products and sums are rounded one by one, in the order of k: no fused multiply-add
 *   reads      elements of x below `size`, which `at` is; no alignment; at is not negative
 *   aliasing   y overlaps no other operand
 */
#ifndef TAKT_KERNEL_GATHER_SUM_F32_H
#define TAKT_KERNEL_GATHER_SUM_F32_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

typedef struct takt_gather_sum_f32 {
    size_t planes, taps, places, inner;
    size_t size;               /* elements of x that a place may name */
    size_t x_plane, y_plane;   /* floats from one plane to the next */
    size_t x_row, y_row;       /* and from one place to the next */
    size_t at_tap, weight_tap; /* elements from one tap to the next */
    const float *x, *weight;
    const int32_t *at, *inside; /* inside: all bits set, or none */
    float *y;
} takt_gather_sum_f32;

typedef void takt_gather_sum_f32_fn(const takt_gather_sum_f32 *g);

TAKT_KERNEL_FAMILY(gather_sum_f32, takt_gather_sum_f32_fn)

#endif
