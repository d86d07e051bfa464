/* fours.h - four floats at a time, at any alignment: one access where their address allows it.
 */
#ifndef TAKT_KERNEL_CUDA_FOURS_H
#define TAKT_KERNEL_CUDA_FOURS_H

#include "kernel/cuda/lang.h"

DEVICE void load_four(float *to, const float *p)
{
    if (((uintptr_t)p & 15) == 0)
        spread(to, *(const quad *)p);
    else
        for (uint32_t j = 0; j < 4; j++)
            to[j] = p[j];
}

DEVICE void store_four(float *to, const float *x)
{
    if (((uintptr_t)to & 15) == 0)
        *(quad *)to = quad_of(x);
    else
        for (uint32_t j = 0; j < 4; j++)
            to[j] = x[j];
}

#endif
