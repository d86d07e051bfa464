/* planted_cuda_reduce_lane.c - reductions in which one thread takes the place of another. */
#define BUG reduce_lane_
#include "planted_cuda.h"

#undef LANE
#define LANE (self->thread == 17 ? 16 : self->thread)

#include "kernel/reduce_f32/reduce_f32_cuda.cu"
