/* args_attend.h - arguments of the device kernel of long attention. */
#ifndef TAKT_KERNEL_CUDA_ARGS_ATTEND_H
#define TAKT_KERNEL_CUDA_ARGS_ATTEND_H

#include "kernel/cuda/args.h"

enum {
    TAKT_CUDA_ATTEND_SIDE = 128,  /* queries of a panel; the largest head */
    TAKT_CUDA_ATTEND_STEP = 16,   /* of a head's elements */
    TAKT_CUDA_ATTEND_LINES = 64,  /* of stages, in shared memory */
    TAKT_CUDA_ATTEND_KEYS = 4096, /* at most: one chunk of an ordered sum */
    TAKT_CUDA_ATTEND_THREADS = 128
};

/* Attention without a mask. A panel is 128 queries of a head; its scores, transposed, are in the
 * scratch of its block: a line of 128 queries per key. */
typedef struct takt_cuda_attend_long {
    const float *q, *k; /* transposed: of each head, `dim` lines of queries, or of keys */
    const float *v;     /* [batch, keys, heads / group, size] */
    float *out;         /* [batch, queries, heads, size] */
    float *scores;
    uint32_t heads, group;         /* group: heads that share one of k and v */
    uint32_t queries, keys;        /* multiples of 4 and of 128 */
    uint32_t dim, size;            /* multiples of 16 and of 4; at most 128 */
    uint32_t panels, each, blocks; /* each: panels of a head */
    float scale;                   /* above 0 */
} takt_cuda_attend_long;

#endif
