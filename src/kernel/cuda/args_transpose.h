/* args_transpose.h - arguments of the device kernel that transposes matrices. */
#ifndef TAKT_KERNEL_CUDA_ARGS_TRANSPOSE_H
#define TAKT_KERNEL_CUDA_ARGS_TRANSPOSE_H

#include <stdint.h>

enum { TAKT_CUDA_TRANSPOSE_SIDE = 64 }; /* of the square that a block transposes */

/* dst[plane][col][row] = src[plane][row][col], of elements of four bytes: keys of attention, so
 * that products read neighbours, or images with channels first. Plane p = (p / inner, p % inner) of
 * src. */
typedef struct takt_cuda_transpose {
    float *dst;
    const float *src;
    int64_t src_row, src_outer, src_inner;
    uint32_t rows, cols, inner;
} takt_cuda_transpose;

#endif
