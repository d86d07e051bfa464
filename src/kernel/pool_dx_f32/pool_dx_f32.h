/* pool_dx_f32.h - contract of the gradient of one output row of a pool, channels last.
 *
 * With p = q*stride + j*dilation - before, for every output q in ascending order and channel c:
 *
 *     largest  dx[i][p][c] += dy[q][c] for the one (i, j) whose x[i][p][c] is the largest; of equal
 *              ones the first in row-major order; NaN is larger than all numbers
 *     average  dx[i][p][c] += dy[q][c] / divisor[q] for all (i, j) in row-major order
 *
 *   padding    positions outside [0, width) and rows that are NULL are left out
 *   alignment  none beyond that of float
 *   reads      x (largest only), dy, divisor and dx (not if `is_disjoint`: then as if it were +0)
 *   writes     dx; if `is_disjoint` all elements of all windows, else lanes that nothing is added
 *              to may keep their values
 *   aliasing   dx overlaps no operand
 */
#ifndef TAKT_KERNEL_POOL_DX_F32_H
#define TAKT_KERNEL_POOL_DX_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_pool_dx_f32 {
    size_t channels, columns; /* of dy */
    size_t step;              /* floats from one position to the next, in x, dx and dy */
    size_t width;             /* positions of a row of x */
    size_t rows, taps;        /* rows * taps < 2^24 */
    size_t stride, dilation, before;
    const float *const *x; /* `rows` rows, or NULL */
    float *const *dx;      /* likewise, the same ones NULL */
    const float *dy;
    const float *divisor; /* [columns], not 0; NULL: of the largest */
    bool is_disjoint;     /* no two windows share an element, in other rows neither */
} takt_pool_dx_f32;

typedef void takt_pool_dx_f32_fn(const takt_pool_dx_f32 *p);

TAKT_KERNEL_FAMILY(pool_dx_f32, takt_pool_dx_f32_fn)

#endif
