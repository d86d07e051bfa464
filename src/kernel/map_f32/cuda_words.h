/* cuda_words.h - words of the templates of element-wise operations: map_f32_cuda*.cu. */
#ifndef TAKT_KERNEL_MAP_F32_CUDA_WORDS_H
#define TAKT_KERNEL_MAP_F32_CUDA_WORDS_H

#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"
#include "kernel/map/map.h"
#include "kernel/map_f32/cuda_kind.h"

DEVICE float sign_of(float x)
{
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

/* Every value of r: x and y are those of a and b. */
#define ALL(expression)                                                                            \
    UNROLL                                                                                         \
    for (int i = 0; i < EACH; i++) {                                                               \
        const float x = a->v[i], y = b->v[i];                                                      \
        (void)y;                                                                                   \
        r->v[i] = expression;                                                                      \
    }                                                                                              \
    break

DEVICE bool is_aligned(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

#endif
