/* rotate_f32.h - contract of rotating pairs of floats by angles given as cosines and sines.
 *
 *     y[r][a] = x[r][a] * cos[i] - x[r][b] * sin[i]
 *     y[r][b] = x[r][b] * cos[i] + x[r][a] * sin[i]
 *     y[r][j] = x[r][j] for j >= 2 * half
 *
 *   pairs      (a, b) is (2 * i, 2 * i + 1) if they are neighbours, else (i, i + half); i < half
 *   order      products and sums are rounded one by one: no fused multiply-add
 *   reads      exactly n floats of each row of x, half of cos and sin; no alignment
 *   writes     exactly n floats of each row of y
 *   aliasing   y overlaps no other operand
 */
#ifndef TAKT_KERNEL_ROTATE_F32_H
#define TAKT_KERNEL_ROTATE_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_rotate_f32 {
    size_t rows, n, half; /* 2 * half <= n */
    size_t x_row;         /* floats from a row of x to the next; rows of y have no gaps */
    bool neighbours;
    const float *x, *cos, *sin;
    float *y;
} takt_rotate_f32;

typedef void takt_rotate_f32_fn(const takt_rotate_f32 *g);

TAKT_KERNEL_FAMILY(rotate_f32, takt_rotate_f32_fn)

#endif
