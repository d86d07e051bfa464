/* args_attend.h - arguments of the device kernel of long attention. */
#ifndef TAKT_KERNEL_CUDA_ARGS_ATTEND_H
#define TAKT_KERNEL_CUDA_ARGS_ATTEND_H

#include "kernel/cuda/args.h"

enum {
    TAKT_CUDA_ATTEND_ROWS = 128, /* queries of a panel */
    TAKT_CUDA_ATTEND_KEYS = 4096 /* at most */
};

/* Attention without a mask. A panel is 128 queries of a head: product[0] makes its scores,
 * product[1] multiplies its weights by v. Scores of a panel are stored in the scratch of its block,
 * 128 rows each: they are C of the first product and A of the second. */
typedef struct takt_cuda_attend_long {
    takt_cuda_gemm product[2];
    uint32_t tiles[2];             /* of a panel */
    uint32_t panels, each, blocks; /* each: panels of a head */
    uint32_t keys;                 /* a multiple of 4 */
    float scale;
} takt_cuda_attend_long;

#endif
