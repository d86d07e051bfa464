/* args_block.h - arguments of the device kernel of products with weights of a few bits. */
#ifndef TAKT_KERNEL_CUDA_ARGS_BLOCK_H
#define TAKT_KERNEL_CUDA_ARGS_BLOCK_H

#include <stdint.h>

enum {
    TAKT_CUDA_BLOCK_COLS = 32, /* of a block of threads */
    TAKT_CUDA_BLOCK_ROWS = 8,
    TAKT_CUDA_BLOCK_THREADS = TAKT_CUDA_BLOCK_COLS * TAKT_CUDA_BLOCK_ROWS,
    TAKT_CUDA_BLOCK_GRAIN = 16 /* neighbouring weights that have one scale */
};

typedef enum takt_cuda_block_zero {
    TAKT_CUDA_ZERO_NONE,
    TAKT_CUDA_ZERO_ONE,    /* a level for all weights */
    TAKT_CUDA_ZERO_LEVELS, /* a level for each block */
    TAKT_CUDA_ZERO_FLOATS  /* an f32 for each block */
} takt_cuda_block_zero;

/* C[m, n] = A[m, k] times w[n, k] transposed, + bias[n]; w = (level - zero) * scale. */
typedef struct takt_cuda_block_args {
    float *c;
    const float *a;
    const uint8_t *levels; /* [n, k], packed from the low bits on */
    const void *scale;     /* [n, blocks] of f32, or f16 */
    const void *zero;      /* or NULL */
    const float *bias;     /* or NULL */
    uint32_t m, n, k, block, blocks;
    uint32_t bits, is_signed, is_half; /* is_half: scales are f16 */
    uint32_t zero_kind;
} takt_cuda_block_args;

#endif
