/* planted_cuda_map_first.c - maps that leave the first elements unwritten. */
#define BUG map_first_
#include "planted_cuda.h"

#undef INDEX
#define INDEX ((uint64_t)self->block[0] * self->threads + self->thread + 1)

#include "kernel/map_f32/map_f32_cuda.cu"
