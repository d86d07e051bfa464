/* winograd_dy_f32.h - contract of the transform of dy in gradients by Winograd's F(4x4, 3x3).
 *
 * The gradient of the weights is Gt [sum over tiles of (Bt x B) * (A dy At)] G, with the matrices
 * of kernel/winograd_f32. This is the last factor: from 4x4 elements of dy to 36 points,
 *
 *         [1  0  0  0]
 *         [1  1  1  1]
 *    A  = [1 -1  1 -1]        D = A dy At, first down the columns, then along the rows,
 *         [1  2  4  8]        channel by channel
 *         [1 -2  4 -8]
 *         [0  0  0  1]
 *
 *   order      y0 = x0, s = x0 + x2, d = x1 + x3, y1 = s + d, y2 = s - d, e = fma(4, x2, x0),
 *              f = fma(4, x3, x1), y3 = fma(2, f, e), y4 = fma(-2, f, e), y5 = x3
 *   alignment  none beyond that of float
 *   reads      exactly what the fields say; writes exactly `channels` floats of every point
 *   aliasing   none
 */
#ifndef TAKT_KERNEL_WINOGRAD_DY_F32_H
#define TAKT_KERNEL_WINOGRAD_DY_F32_H

#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_winograd_dy_f32 {
    size_t channels;
    float *points;       /* D: point p at points + p * point_stride */
    size_t point_stride; /* floats */
    /* dy[i][j] at taps[4 i + j] if taps is not NULL, else at dy + i * row + j * column. */
    const float *const *taps;
    const float *dy;
    size_t row, column; /* floats */
} takt_winograd_dy_f32;

typedef void takt_winograd_dy_f32_fn(const takt_winograd_dy_f32 *w);

TAKT_KERNEL_FAMILY(winograd_dy_f32, takt_winograd_dy_f32_fn)

#endif
