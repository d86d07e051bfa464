/* peak_f32_cuda.cu - what a device reaches: multiply-adds that depend on nothing but registers, and
 * reads of memory. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

enum { CHAINS = 16 };

KERNEL(takt_cuda_peak_fma, takt_cuda_peak_args, TAKT_CUDA_MOVE_THREADS)
{
    float sum[CHAINS];
    const float x = ARG.factor, y = (float)LANE;
    UNROLL
    for (uint32_t i = 0; i < CHAINS; i++)
        sum[i] = (float)i;
    ROLL for (uint32_t k = 0; k < ARG.loops; k++)
    {
        UNROLL
        for (uint32_t i = 0; i < CHAINS; i++)
            sum[i] = fmaf(sum[i], x, y);
    }
    float all = 0.0f;
    UNROLL
    for (uint32_t i = 0; i < CHAINS; i++)
        all = all + sum[i];
    if (all == -1.0f) /* never true, but the compiler cannot know */
        ARG.dst[INDEX] = all;
}

/* All threads read `count` quads, `loops` times. */
KERNEL(takt_cuda_peak_read, takt_cuda_peak_args, TAKT_CUDA_MOVE_THREADS)
{
    const quad *src = (const quad *)ARG.src;
    const uint64_t all = (uint64_t)ARG.blocks * LANES, first = INDEX;
    float sum = 0.0f;
    for (uint32_t k = 0; k < ARG.loops; k++) {
        uint64_t i = first;
        for (; i + 3 * all < ARG.count; i += 4 * all) {
            const quad a = src[i], b = src[i + all], c = src[i + 2 * all], e = src[i + 3 * all];
            sum = sum + ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
            sum = sum + ((c.x + c.y) + (c.z + c.w)) + ((e.x + e.y) + (e.z + e.w));
        }
        for (; i < ARG.count; i += all)
            sum = sum + ((src[i].x + src[i].y) + (src[i].z + src[i].w));
    }
    if (sum == -1.0f)
        ARG.dst[INDEX] = sum;
}
