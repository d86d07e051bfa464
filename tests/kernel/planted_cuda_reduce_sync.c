/* planted_cuda_reduce_sync.c - reductions without barriers. */
#define BUG reduce_sync_
#include "planted_cuda.h"

#undef SYNC
#define SYNC() ((void)self)

#include "kernel/reduce_f32/reduce_f32_cuda.cu"
