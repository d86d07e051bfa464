/* gemm_f32_cuda_few.cu - products of few rows on a device: a thread is a column, a warp a chunk.
 *
 * Such a product reads B once and does little else, so what counts is how much of B is in flight: a
 * thread loads the next columns before it uses the last ones. Rows of A lie in shared memory.
 */
#include "kernel/gemm_f32/cuda_place.h"

enum { COLS = TAKT_CUDA_GEMM_FEW_COLS };

/* A chunk of a column of B. */
typedef struct column {
    const float *b;
    uint32_t depth;
} column;

/* What rows of a column share; `bias` is its place. */
DEVICE channel_end column_end(const takt_cuda_epilogue *e, uint64_t bias)
{
    channel_end c;
    c.bias = e->bias != NULL ? e->bias[bias] : 0.0f;
    c.low = e->low != NULL ? *e->low : 0.0f;
    c.high = e->high != NULL ? *e->high : 0.0f;
    return c;
}

/* An element of the softmax of a row, which a warp has: its elements are x, those beyond its end
 * are not there. `line` is shared, a float a lane. The sum has sixteen lanes, as in rows_f32. */
DEVICE float soft(float x, bool is_there, float *line, uint32_t l SELF_PARAMETER)
{
    enum { WIDE = 16 };
    float v[COLS], most = -INFINITY;
    line[l] = is_there ? x : -INFINITY;
    SYNC();
    UNROLL
    for (uint32_t k = 0; k < COLS; k += 4)
        spread(v + k, *(const quad *)(line + k));
    UNROLL
    for (uint32_t k = 0; k < COLS; k++)
        most = v[k] > most ? v[k] : most;
    const float e = is_there ? exp_down_f32(x - most) : 0.0f;
    SYNC();
    line[l] = e;
    SYNC();
    UNROLL
    for (uint32_t k = 0; k < COLS; k += 4)
        spread(v + k, *(const quad *)(line + k));
    UNROLL
    for (uint32_t half = WIDE; half > 2; half /= 2)
        UNROLL
    for (uint32_t k = 0; k < half; k++)
        v[k] = v[k] + v[k + half];
    SYNC();
    return e * (1.0f / ((v[0] + v[2]) + (v[1] + v[3])));
}

#define ROWS 1
#define AT_ONCE 32
#define NAMED(name) name##_row
#include "kernel/gemm_f32/cuda_few.inc"

LATE_KERNEL(takt_cuda_gemm_f32_row, takt_cuda_gemm, 512, 1)
{
    DYNAMIC(float, shared);
    few_rows_row(&ARG, shared, false SELF);
}

LATE_KERNEL(takt_cuda_gemm_f32_row_soft, takt_cuda_gemm, 512, 1)
{
    DYNAMIC(float, shared);
    few_rows_row(&ARG, shared, true SELF);
}

#define ROWS 4
#define AT_ONCE 16
#define NAMED(name) name##_four
#include "kernel/gemm_f32/cuda_few.inc"

LATE_KERNEL(takt_cuda_gemm_f32_four, takt_cuda_gemm, 512, 1)
{
    DYNAMIC(float, shared);
    few_rows_four(&ARG, shared, false SELF);
}

LATE_KERNEL(takt_cuda_gemm_f32_four_soft, takt_cuda_gemm, 512, 1)
{
    DYNAMIC(float, shared);
    few_rows_four(&ARG, shared, true SELF);
}

#define ROWS TAKT_CUDA_GEMM_FEW
#define AT_ONCE 16
#define NAMED(name) name##_few
#include "kernel/gemm_f32/cuda_few.inc"

LATE_KERNEL(takt_cuda_gemm_f32_few, takt_cuda_gemm, 512, 1)
{
    DYNAMIC(float, shared);
    few_rows_few(&ARG, shared, false SELF);
}

LATE_KERNEL(takt_cuda_gemm_f32_few_soft, takt_cuda_gemm, 512, 1)
{
    DYNAMIC(float, shared);
    few_rows_few(&ARG, shared, true SELF);
}
