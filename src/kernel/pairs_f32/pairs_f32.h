/* pairs_f32.h - contract of sums of products, channel by channel: gradients of depthwise
 * convolutions.
 *
 *     y[j * step + c] = sum of a[j * terms + i][c] * b[i][c] over i < terms
 *
 *   order      acc = +0, then acc = fma(a, b, acc) with i ascending; with `adds`, acc is added to
 *              what y holds: y + acc
 *   alignment  none beyond that of float
 *   reads      `channels` floats behind every pointer; writes exactly y[j * step ... + channels)
 *   aliasing   y overlaps no operand
 */
#ifndef TAKT_KERNEL_PAIRS_F32_H
#define TAKT_KERNEL_PAIRS_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_pairs_f32 {
    size_t channels, columns, terms;
    const float *const *a; /* [columns][terms] */
    const float *const *b; /* [terms] */
    float *y;
    size_t step; /* floats from one column of y to the next */
    bool adds;
} takt_pairs_f32;

typedef void takt_pairs_f32_fn(const takt_pairs_f32 *p);

TAKT_KERNEL_FAMILY(pairs_f32, takt_pairs_f32_fn)

#endif
