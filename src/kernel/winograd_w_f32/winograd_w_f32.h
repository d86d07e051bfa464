/* winograd_w_f32.h - contract of the weights' transform of Winograd's convolution F(4x4, 3x3).
 *
 *         [ 1/4    0     0  ]
 *         [-1/6  -1/6  -1/6 ]
 *    G  = [-1/6   1/6  -1/6 ]      U = G w Gt, in double, rounded to f32 once
 *         [1/24  1/12   1/6 ]
 *         [1/24 -1/12   1/6 ]
 *         [  0     0     1  ]
 *
 * of groups of four kernels w of 3x3 taps, each first down the columns, then along the rows.
 *
 *   order      of a, w, c: b = w / 6, e = (a + c) / 6, s = c / 6 + a / 6 / 4; a / 4, -(e + b),
 *              b - e, s + b / 2, s - b / 2, c
 *   bits       equal in every variant, NaN payloads apart
 *   alignment  none beyond that of float
 *   reads      exactly 36 floats a group; writes exactly four floats at each of its 36 points
 *   aliasing   none
 */
#ifndef TAKT_KERNEL_WINOGRAD_W_F32_H
#define TAKT_KERNEL_WINOGRAD_W_F32_H

#include <stddef.h>

#include "kernel/kernel.h"

enum { TAKT_WINOGRAD_W_SIDE = 4, TAKT_WINOGRAD_W_TAPS = 9 };

typedef struct takt_winograd_w_f32 {
    size_t groups;
    const float *taps; /* group g, tap k, kernel i: taps[(9 g + k) 4 + i] */
    float *points;     /* group g, point p, kernel i: points[g group_stride + p point_stride + i] */
    size_t group_stride, point_stride;
} takt_winograd_w_f32;

typedef void takt_winograd_w_f32_fn(const takt_winograd_w_f32 *w);

TAKT_KERNEL_FAMILY(winograd_w_f32, takt_winograd_w_f32_fn)

#endif
