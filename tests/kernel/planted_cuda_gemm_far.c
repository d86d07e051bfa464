/* planted_cuda_gemm_far.c - products that read one element too far. */
#define BUG gemm_far_
#include "planted_cuda.h"

#define copy_async_one(to, from) (copy_async_one)(to, (const float *)(from) + 1)

#include "kernel/gemm_f32/gemm_f32_cuda.cu"
