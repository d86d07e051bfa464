/* planted_cuda_rows_lane.c - rows in which one thread takes the place of another. */
#define BUG rows_lane_
#include "planted_cuda.h"

#undef LANE
#define LANE (self->thread == 17 ? 16 : self->thread)

#include "kernel/rows_f32/rows_f32_cuda.cu"
