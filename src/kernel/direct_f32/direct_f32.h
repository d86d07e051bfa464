/* direct_f32.h - contract of products of few rows with a matrix that is read in place.
 *
 *     C[m,n] = A[m,k] * B[k,n],  B[p,j] = b[p * b_row + j * b_col]
 *
 *   B          row-major (b_col = 1) or column-major (b_row = 1), never packed: for a B that is
 *              read once, such as the keys and values that one query of attention sees. Where b_at
 *              is not NULL, B[p,j] = b[b_at[p] + j]: rows that lie anywhere, and may overlap
 *   order      that of gemm_f32.h: chunks of TAKT_GEMM_CHUNK, fma with k ascending, chunks added in
 *              order. The bits are those of gemm_f32
 *   alignment  none beyond that of float
 *   reads      exactly A and B
 *   writes     exactly C
 *   aliasing   C overlaps no other operand: it holds partial sums
 *   k = 0      C = +0
 */
#ifndef TAKT_KERNEL_DIRECT_F32_H
#define TAKT_KERNEL_DIRECT_F32_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "kernel/pack/panels.h"
#include "kernel/poll.h"

typedef struct takt_direct_f32 {
    size_t m, n, k;
    const float *a;
    size_t a_row; /* floats from one row of A to the next */
    const float *b;
    size_t b_row, b_col; /* floats between rows and between columns of B; one of them is 1 */
    const size_t *b_at;  /* where rows of B begin; or NULL */
    float *c;
    size_t ldc;
    const takt_poll *poll; /* polled about every 2^18 products of a strip of rows; or NULL */
} takt_direct_f32;

typedef void takt_direct_f32_fn(const takt_direct_f32 *g);

TAKT_KERNEL_FAMILY(direct_f32, takt_direct_f32_fn)

#endif
