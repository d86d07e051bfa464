/* planted_cuda_gemm_fma.c - products that round twice. */
#define BUG gemm_fma_
#include "planted_cuda.h"

#include <math.h>
#define fmaf(a, b, c) ((a) * (b) + (c))

#include "kernel/gemm_f32/gemm_f32_cuda.cu"
