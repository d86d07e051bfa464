/* cuda_soft.h - epilogues of products of few rows or columns: by columns, and with a softmax. */
#ifndef TAKT_KERNEL_GEMM_F32_CUDA_SOFT_H
#define TAKT_KERNEL_GEMM_F32_CUDA_SOFT_H

#include "kernel/gemm_f32/cuda_place.h"

enum { COLS = TAKT_CUDA_GEMM_FEW_COLS };

/* Values that the rows of a column share; `bias` is its index. */
DEVICE channel_end column_end(const takt_cuda_epilogue *e, uint64_t bias)
{
    channel_end c;
    c.bias = e->bias != NULL ? e->bias[bias] : 0.0f;
    c.low = e->low != NULL ? *e->low : 0.0f;
    c.high = e->high != NULL ? *e->high : 0.0f;
    return c;
}

/* The element-wise maximum of two halves; NaN never wins. */
DEVICE void larger_half(float *v, const uint32_t half)
{
    UNROLL
    for (uint32_t k = 0; k < half; k++)
        v[k] = fmaxf(v[k], v[k + half]);
}

/* An element of the softmax of a row, computed by a warp: x are its elements, and those beyond its
 * end are absent. `line` is shared memory, one float per lane. The sum has sixteen lanes, as in
 * rows_f32. */
DEVICE float soft(float x, bool is_there, float *line, uint32_t l SELF_PARAMETER)
{
    enum { WIDE = 16 };
    float v[COLS];
    line[l] = is_there ? x : -INFINITY;
    SYNC();
    UNROLL
    for (uint32_t k = 0; k < COLS; k += 4)
        spread(v + k, *(const quad *)(line + k));
    larger_half(v, COLS / 2);
    larger_half(v, COLS / 4);
    larger_half(v, COLS / 8);
    larger_half(v, COLS / 16);
    larger_half(v, COLS / 32);
    const float most = fmaxf(v[0], -INFINITY);
    const float e = is_there ? exp_share_f32(x - most) : 0.0f;
    SYNC();
    line[l] = e;
    SYNC();
    UNROLL
    for (uint32_t k = 0; k < COLS; k += 4)
        spread(v + k, *(const quad *)(line + k));
    UNROLL
    for (uint32_t k = 0; k < WIDE; k++) /* a loop over halves would keep v in memory */
        v[k] = v[k] + v[k + WIDE];
    UNROLL
    for (uint32_t k = 0; k < WIDE / 2; k++)
        v[k] = v[k] + v[k + WIDE / 2];
    UNROLL
    for (uint32_t k = 0; k < WIDE / 4; k++)
        v[k] = v[k] + v[k + WIDE / 4];
    SYNC();
    return e * (1.0f / ((v[0] + v[2]) + (v[1] + v[3])));
}

#endif
