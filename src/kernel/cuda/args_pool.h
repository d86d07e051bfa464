/* args_pool.h - arguments of the device kernels of pools of any type and their gradients. */
#ifndef TAKT_KERNEL_CUDA_ARGS_POOL_H
#define TAKT_KERNEL_CUDA_ARGS_POOL_H

#include <stdint.h>

enum { TAKT_CUDA_POOL_THREADS = 128 };

typedef enum takt_cuda_pool_op {
    TAKT_CUDA_POOL_MAX,
    TAKT_CUDA_POOL_PICK, /* what `b` has where `a` is largest */
    TAKT_CUDA_POOL_AVERAGE,
    TAKT_CUDA_POOL_MAX_DX,    /* a: x, b: dy */
    TAKT_CUDA_POOL_AVERAGE_DX /* a: dy */
} takt_cuda_pool_op;

/* Numbers as in takt_pool_shape of backend/cpu/conv/pool.h. */
typedef struct takt_cuda_pool_args {
    void *dst;
    const void *a, *b; /* b: or NULL */
    uint64_t count;    /* of results */
    uint32_t op, dtype, channels, counts_pad;
    uint32_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
    int64_t x_sample, x_position, x_channel, y_sample, y_position, y_channel;
} takt_cuda_pool_args;

#endif
