/* block_i8.h - contract of the product of floats, rounded to 8 bits by blocks, with block-quantised
 * weights.
 *
 *     most[m,b] = max |a| over the block
 *     qa[m,k] = a * (127 / most) rounded half to even, held to [-127, 127]; NaN gives 0
 *     dx[m,b] = most / 127
 *     dot[m,n,b] = sum over the block of qa * (level - zero), in integers
 *     C[m,n] = sum over b of (scale[n,b] * dx[m,b]) * (f32)dot, + bias[n]
 *
 *   order      blocks in chunks of TAKT_GEMM_CHUNK; in a chunk acc = +0, then acc = fma(scale * dx,
 *              dot, acc) with b ascending; the first chunk is stored, later ones are added in order
 *   bits       every variant equals scalar
 *   limits     2^31 > 127 * 255 * block; zero points are levels, not floats
 *   NaN, inf   in a block of a row of A give NaN in that row of C
 *   reads      exactly A, the panels of B, bias[n]; writes C[m,n] and the scratch
 *   aliasing   C overlaps no other operand
 */
#ifndef TAKT_KERNEL_BLOCK_I8_H
#define TAKT_KERNEL_BLOCK_I8_H

#include "kernel/blocks/blocks.h"
#include "kernel/kernel.h"
#include "kernel/pack/panels.h"
#include "kernel/poll.h"

typedef struct takt_block_i8 {
    size_t m;
    const float *a;
    size_t a_row; /* floats */
    takt_blocks b;
    const float *bias; /* or NULL */
    float *c;
    size_t ldc;
    void *scratch; /* 64-byte aligned, of the size in the kernel's info */
    /* All m rows of A by the kernel's `round`, 64-byte aligned; NULL: rounded in scratch. */
    const void *rounded;
    const takt_poll *poll; /* polled every few panels; or NULL */
} takt_block_i8;

typedef void takt_block_i8_fn(const takt_block_i8 *g);

typedef struct takt_block_i8_info {
    size_t rows; /* of a full tile */
    /* For this m, k and block; reads no pointer; bounded by about 1.5 MiB + 48 * k. */
    size_t (*scratch_bytes)(const takt_block_i8 *g);
    /* Rows of A rounded once for several calls, each with some columns of B; NULL: not supported.
     * Of any number of columns, for this m, k and block. */
    size_t (*rounded_bytes)(const takt_block_i8 *g);
    /* Part `part` of `parts`; needs A, the scratch and all of B but its words and scales. */
    void (*round)(const takt_block_i8 *g, size_t part, size_t parts, void *rounded);
} takt_block_i8_info;

TAKT_KERNEL_FAMILY(block_i8, takt_block_i8_fn)

#endif
