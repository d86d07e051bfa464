/* winograd_few_f32.h - contract of the products of Winograd's F(4x4, 3x3) for up to four tiles, by
 * weights that are transformed in registers.
 *
 *     M[p][tile][o]  =  or +=  sum over c of V[p][tile][c] U[p][c][o],   U = G w Gt
 *
 * With few tiles the product waits for U, which has 36 numbers for each 9 of w.
 *
 *   order      U as the step for weights of winograd_f32.h; acc = +0, then acc = fma(v, u, acc)
 * with c ascending, as a chunk of gemm_f32 alignment  none beyond that of float reads      exactly
 * what the fields say; writes exactly tiles x count floats at each point aliasing   none
 */
#ifndef TAKT_KERNEL_WINOGRAD_FEW_F32_H
#define TAKT_KERNEL_WINOGRAD_FEW_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

enum { TAKT_WINOGRAD_FEW = 4, TAKT_WINOGRAD_FEW_SUMS = 36 * 4 * 16 };

typedef struct takt_winograd_few_f32 {
    size_t tiles, channels; /* 1 to TAKT_WINOGRAD_FEW; c */
    size_t columns, count;  /* of w, whole vectors; how many of them are wanted */
    const float *w;         /* tap t of (c, o) at w + t * tap + c * columns + o */
    size_t tap;
    const float *v; /* point 6 i + j of (c, tile) at v + i * v_row + (6 c + j) * 4 + tile */
    size_t v_row;   /* tiles that do not exist are read, too */
    float *m;       /* point p of (tile, o) at m + p * point + tile * ld + o */
    size_t point, ld;
    bool adds;   /* M += */
    float *sums; /* scratch: TAKT_WINOGRAD_FEW_SUMS */
} takt_winograd_few_f32;

typedef void takt_winograd_few_f32_fn(const takt_winograd_few_f32 *w);

/* takt_kernel.info of this family is a size_t: the floats of a vector. */
TAKT_KERNEL_FAMILY(winograd_few_f32, takt_winograd_few_f32_fn)

#endif
