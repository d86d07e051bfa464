/* planted_cuda_rows_sync.c - rows without barriers. */
#define BUG rows_sync_
#include "planted_cuda.h"

#undef SYNC
#define SYNC() ((void)self)

#include "kernel/rows_f32/rows_f32_cuda.cu"
