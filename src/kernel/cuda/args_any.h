/* args_any.h - arguments of device kernels that take elements of any type; part of args.h. */
#ifndef TAKT_KERNEL_CUDA_ARGS_ANY_H
#define TAKT_KERNEL_CUDA_ARGS_ANY_H

#include "kernel/cuda/args.h"

/* ---- scatters: move_cuda_scatter.cu ---- */

typedef enum takt_cuda_scatter_kind {
    TAKT_CUDA_SCATTER_ROWS,     /* rows along an axis, an index each */
    TAKT_CUDA_SCATTER_ELEMENTS, /* an index for every element */
    TAKT_CUDA_SCATTER_BLOCKS    /* a block for each row of coordinates */
} takt_cuda_scatter_kind;

/* As takt_scatter of op/util/index.h. */
typedef enum takt_cuda_scatter_how {
    TAKT_SCATTER_SET,
    TAKT_SCATTER_ADD,
    TAKT_SCATTER_MUL,
    TAKT_SCATTER_MAX,
    TAKT_SCATTER_MIN
} takt_cuda_scatter_how;

/* Combines `part` into dst at `index`. Also a conversion of `count` elements of `part` to dst. */
typedef struct takt_cuda_scatter_args {
    void *dst;
    const void *index, *part; /* index: int64_t, or int32_t */
    uint64_t *fault;          /* the lowest index that is out of range */
    uint64_t count, picks;    /* lines, and updates of each */
    uint64_t size, inner;     /* of the axis; elements of a row or a block */
    uint32_t kind, how, is_narrow, bytes;
    uint32_t dtype, as; /* of `part`, of dst */
    uint32_t dims, axis;
    /* ELEMENTS: sizes of the index, strides of dst; BLOCKS: sizes of the indexed axes. */
    int64_t dim[TAKT_CUDA_MOVE_DIMS], stride[TAKT_CUDA_MOVE_DIMS];
} takt_cuda_scatter_args;

/* ---- quantised elements: map_cuda_affine.cu ---- */

/* Floats to integers, or back: x is [outer, size, inner], and the axis of `size` has a scale and a
 * zero for every place; size 1: one for all. */
typedef struct takt_cuda_affine_args {
    void *dst;
    const void *src, *scale, *zero; /* zero: or NULL; of the integers' type */
    /* Integers to integers of another scale, by way of f32; NULL: not. */
    const float *to_scale;
    const void *to_zero;
    uint64_t count, size, inner;
    uint32_t is_down; /* floats to integers */
    uint32_t wide, narrow, scale_dtype;
    uint32_t to_narrow; /* with to_scale, whose limits `low` and `high` are */
    double low, high;   /* of the integers' type */
} takt_cuda_affine_args;

/* ---- what a device reaches: peak_f32_cuda.cu ---- */

typedef struct takt_cuda_peak_args {
    float *dst; /* room for every thread, never written */
    const float *src;
    uint64_t count; /* of four floats each */
    uint32_t loops, blocks;
    float factor;
} takt_cuda_peak_args;

/* ---- random numbers: map_cuda_rand.cu ---- */

typedef struct takt_cuda_rand_args {
    void *dst;
    const uint64_t *seed, *step, *base; /* one each */
    uint64_t count;
    uint32_t dist, stream, dtype; /* dist: as the op says */
} takt_cuda_rand_args;

/* ---- convolutions of any type: conv_f32_cuda_any.cu, conv_f32_cuda_grad.cu ---- */

/* Numbers as in takt_conv_shape of backend/cpu/conv/shape.h. */
typedef struct takt_cuda_conv_any_args {
    void *y;           /* of gradients: dx or dw */
    const void *x, *w; /* dy and w of dx, x and dy of dw */
    uint64_t count, positions;
    uint32_t dtype, adds_zero; /* adds_zero: the last chunk of floats + 0 */
    uint32_t batch, groups, cin, cout, taps;
    uint32_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3];
    int64_t x_sample, x_at[3], x_channel, y_sample, y_position, y_channel, w_out, w_tap, w_in;
} takt_cuda_conv_any_args;

#endif
