/* gemm_f32_cuda_few.cu - products of few rows on a device: a thread is a column, a warp a chunk.
 *
 * Such a product reads B once and does little else, so what counts is how much of B is in flight: a
 * thread loads the next columns before it uses the last ones. Rows of A lie in shared memory.
 */
#include "kernel/gemm_f32/cuda_soft.h"

/* A chunk of a column of B. */
typedef struct column {
    const float *b;
    uint32_t depth;
} column;

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
