/* rows_f32_cuda_weigh.cu - turns scores of attention into weights on a device.
 *
 * A block has a query of a head. Maximum and sum are exact, over the keys that the query sees, in the
 * order of rows/rows.h; nothing is rescaled.
 */
#include "kernel/rows_f32/cuda_block.h"

/* Keys that a query sees. */
DEVICE uint32_t limit_of(uint32_t is_causal, uint32_t queries, uint32_t keys, uint32_t query)
{
    const uint32_t seen = query + 1 + keys;
    return !is_causal ? keys : seen > queries ? seen - queries : 0;
}

KERNEL(takt_cuda_weigh_f32, takt_cuda_weigh, TAKT_CUDA_WEIGH_THREADS)
{
    DYNAMIC(float, shared);
    const uint32_t query = BLOCK_X % ARG.queries, plane = BLOCK_X / ARG.queries;
    const uint32_t limit = limit_of(ARG.is_causal, ARG.queries, ARG.keys, query);
    const uint32_t head = (ARG.first + plane) % ARG.heads, b = (ARG.first + plane) / ARG.heads;
    const float *mask = ARG.mask;
    float *scores = ARG.scores + (uint64_t)BLOCK_X * ARG.keys;
    const held_row r = {shared + LANES, limit, shared};
    float most = -INFINITY;
    if (mask != NULL)
        mask += b * ARG.mask_stride[0] + head * ARG.mask_stride[1] + query * ARG.mask_stride[2];
    for (uint32_t i = LANE; i < limit; i += LANES) {
        float x = scores[i] * ARG.scale;
        if (mask != NULL)
            x = x + mask[i * ARG.mask_stride[3]];
        r.x[i] = x;
        most = x > most ? x : most;
    }
    most = block_max(&r, most SELF);
    for (uint32_t i = LANE; i < limit; i += LANES)
        r.x[i] = exp_down_f32(r.x[i] - most);
    SYNC();
    const float scale = 1.0f / block_sum(&r, PLAIN, 0 SELF);
    for (uint32_t i = LANE; i < ARG.keys; i += LANES)
        scores[i] = i < limit ? r.x[i] * scale : 0.0f;
}

KERNEL(takt_cuda_attend_again_f32, takt_cuda_again, 128)
{
    enum { CHAIN = TAKT_CUDA_GEMM_CHUNK };
    SHARED(uint32_t, doubtful, 1);
    const uint32_t query = BLOCK_X % ARG.queries, plane = BLOCK_X / ARG.queries;
    const uint32_t limit = limit_of(1, ARG.queries, ARG.keys, query);
    const uint32_t head = (ARG.first + plane) % ARG.heads, b = (ARG.first + plane) / ARG.heads;
    const uint32_t heads = ARG.heads / ARG.group;
    const float *weights = ARG.weights + (uint64_t)BLOCK_X * ARG.keys;
    float *out = ARG.out + (((uint64_t)b * ARG.queries + query) * ARG.heads + head) * ARG.size;
    if (LANE == 0)
        *doubtful = 0;
    SYNC();
    for (uint32_t j = LANE; j < ARG.size; j += LANES)
        if (!(out[j] < 0.0f || out[j] > 0.0f))
            *doubtful = 1;
    SYNC();
    if (limit == ARG.keys || (limit > 0 && *doubtful == 0))
        return;
    for (uint32_t j = LANE; j < ARG.size; j += LANES) {
        const float *v = ARG.v + ((uint64_t)b * ARG.keys * heads + head / ARG.group) * ARG.size + j;
        float total = 0.0f, acc = 0.0f;
        for (uint32_t t = 0; t < limit; t++) {
            acc = fmaf(weights[t], v[(uint64_t)t * heads * ARG.size], acc);
            if (t + 1 == limit || (t + 1) % CHAIN == 0) {
                total = t < CHAIN ? acc : total + acc;
                acc = 0.0f;
            }
        }
        out[j] = total;
    }
}
