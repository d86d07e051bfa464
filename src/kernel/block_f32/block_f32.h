/* block_f32.h - contract of the product of a few rows of floats with block-quantised weights.
 *
 *     w[k,n] = (level - zero) * scale, in f32: the difference rounded, then the product
 *     C[m,n] = A[m,k] * w + bias[n]
 *
 *   order      that of kernel/gemm_f32/gemm_f32.h: the bits are those of w as floats
 *   rows       any m; weights are read and made floats once for every TAKT_BLOCK_ROWS of them, so
 *              more than that are better served by block_panels and gemm_f32
 *   reads      exactly A, the panels of B, bias[n]; writes exactly C[m,n]
 *   aliasing   C overlaps no other operand
 */
#ifndef TAKT_KERNEL_BLOCK_F32_H
#define TAKT_KERNEL_BLOCK_F32_H

#include "kernel/blocks/blocks.h"
#include "kernel/kernel.h"
#include "kernel/pack/panels.h"
#include "kernel/poll.h"

enum { TAKT_BLOCK_ROWS = 4 };

typedef struct takt_block_f32 {
    size_t m;
    const float *a;
    size_t a_row; /* floats */
    takt_blocks b;
    const float *bias; /* or NULL */
    float *c;
    size_t ldc;
    const takt_poll *poll; /* polled every few panels; or NULL */
} takt_block_f32;

typedef void takt_block_f32_fn(const takt_block_f32 *g);

TAKT_KERNEL_FAMILY(block_f32, takt_block_f32_fn)

#endif
