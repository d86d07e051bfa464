/* attention.h - sizes of an attention on the device. */
#ifndef TAKT_BACKEND_CUDA_ATTENTION_H
#define TAKT_BACKEND_CUDA_ATTENTION_H

#include "backend/cuda/step.h"

typedef struct takt_cuda_attention {
    size_t batch, heads, shared, group; /* query heads, heads of k and v, query heads per such */
    size_t queries, keys, dim, size;    /* size: of a head of v */
    size_t planes;                      /* heads of k and v whose scores exist at a time */
    bool is_transposed;                 /* k is transposed first */
    takt_cuda_weigh weigh;
} takt_cuda_attention;

/* Bytes of scratch for that many floats. */
static inline uint64_t takt_cuda_attention_bytes(uint64_t floats)
{
    return (floats * sizeof(float) + 255) / 256 * 256;
}

/* Adds the launches of the kernel of long attention to `s`, if it takes these sizes and the step
 * has its memory; `other`, bytes of scratch without it. */
bool takt_cuda_attention_panels(takt_planner *p, const takt_cuda_attention *f, uint64_t other,
                                takt_cuda_step *s);

#endif
