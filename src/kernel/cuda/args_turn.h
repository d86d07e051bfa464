/* args_turn.h - arguments of the device kernel that transposes k of attention. */
#ifndef TAKT_KERNEL_CUDA_ARGS_TURN_H
#define TAKT_KERNEL_CUDA_ARGS_TURN_H

#include <stdint.h>

enum { TAKT_CUDA_TURN_SIDE = 32 }; /* of the square that a block turns */

/* dst[plane][col][row] = src[plane][row][col]: keys as columns, so that products read neighbours.
 * Plane p = (p / inner, p % inner) of src. */
typedef struct takt_cuda_turn {
    float *dst;
    const float *src;
    int64_t src_row, src_outer, src_inner;
    uint32_t rows, cols, inner;
} takt_cuda_turn;

#endif
