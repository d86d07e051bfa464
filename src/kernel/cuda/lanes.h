/* lanes.h - sums of sixteen lanes on a device: what reductions and rows share. */
#ifndef TAKT_KERNEL_CUDA_LANES_H
#define TAKT_KERNEL_CUDA_LANES_H

#include "kernel/cuda/lang.h"

enum { WIDE = 16, AT_ONCE = 16 /* elements of a lane that are loaded before they are used */ };

/* The next elements of a lane. */
DEVICE void read_lane(float *y, const float *x)
{
    UNROLL
    for (uint32_t k = 0; k < AT_ONCE; k++)
        y[k] = x[k * WIDE];
}

#endif
