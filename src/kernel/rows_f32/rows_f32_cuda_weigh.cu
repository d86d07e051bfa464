/* rows_f32_cuda_weigh.cu - turns scores of attention into weights on a device.
 *
 * A block has a query of a head. Maximum and sum are exact, over the keys that the query sees, in
 * the order of rows/rows.h; nothing is rescaled.
 */
#include "kernel/cuda/args_transpose.h"
#include "kernel/rows_f32/cuda_block.h"

/* Keys that a query sees. */
DEVICE uint32_t limit_of(uint32_t is_causal, uint32_t queries, uint32_t keys, uint32_t query)
{
    const uint32_t seen = query + 1 + keys;
    return !is_causal ? keys : seen > queries ? seen - queries : 0;
}

/* Writes scaled scores to shared memory and returns their maximum to all threads; reads quads where
 * possible. */
DEVICE float bring_scaled(const held_row *r, const float *scores, float scale,
                          bool by_quads SELF_PARAMETER)
{
    float most = -INFINITY;
    const uint32_t whole = by_quads ? r->n / 4 * 4 : 0;
    for (uint32_t i = 4 * LANE; i < whole; i += 4 * LANES) {
        quad q = *(const quad *)(scores + i);
        q.x = q.x * scale;
        q.y = q.y * scale;
        q.z = q.z * scale;
        q.w = q.w * scale;
        *(quad *)(r->x + i) = q;
        most = larger(larger(larger(larger(most, q.x), q.y), q.z), q.w);
    }
    for (uint32_t i = whole + LANE; i < r->n; i += LANES) {
        const float x = scores[i] * scale;
        r->x[i] = x;
        most = larger(most, x);
    }
    return block_max(r, most SELF);
}

DEVICE float bring_masked(const held_row *r, const float *scores, const float *mask,
                          const takt_cuda_weigh *w SELF_PARAMETER)
{
    float most = -INFINITY;
    for (uint32_t i = LANE; i < r->n; i += LANES) {
        float x = scores[i] * w->scale;
        x = x + mask[i * w->mask_stride[3]];
        r->x[i] = x;
        most = larger(most, x);
    }
    return block_max(r, most SELF);
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
    const bool by_quads = ((uintptr_t)scores & 15) == 0;
    float most;
    if (mask != NULL) {
        mask += b * ARG.mask_stride[0] + head * ARG.mask_stride[1] + query * ARG.mask_stride[2];
        most = bring_masked(&r, scores, mask, &ARG SELF);
    } else {
        most = bring_scaled(&r, scores, ARG.scale, by_quads SELF);
    }
    for (uint32_t i = LANE; i < limit; i += LANES)
        r.x[i] = exp_down_f32(r.x[i] - most);
    SYNC();
    const float scale = 1.0f / block_sum(&r, PLAIN, 0 SELF);
    const uint32_t whole = by_quads ? limit / 4 * 4 : 0;
    for (uint32_t i = 4 * LANE; i < whole; i += 4 * LANES) {
        quad q = *(const quad *)(r.x + i);
        q.x = q.x * scale;
        q.y = q.y * scale;
        q.z = q.z * scale;
        q.w = q.w * scale;
        *(quad *)(scores + i) = q;
    }
    for (uint32_t i = whole + LANE; i < ARG.keys; i += LANES)
        scores[i] = i < limit ? r.x[i] * scale : 0.0f;
}

KERNEL(takt_cuda_transpose_f32, takt_cuda_transpose, 256)
{
    enum { SIDE = TAKT_CUDA_TRANSPOSE_SIDE, LINE = SIDE + 1 /* columns are in different banks */ };
    SHARED(float, tile, SIDE *LINE);
    const uint32_t across = (ARG.cols + SIDE - 1) / SIDE, step = LANES / SIDE;
    const uint32_t row = BLOCK_X / across * SIDE, col = BLOCK_X % across * SIDE;
    const uint32_t x = LANE % SIDE, y = LANE / SIDE;
    const float *src =
        ARG.src + BLOCK_Z / ARG.inner * ARG.src_outer + BLOCK_Z % ARG.inner * ARG.src_inner;
    float *dst = ARG.dst + (uint64_t)BLOCK_Z * ARG.rows * ARG.cols;
    for (uint32_t i = y; i < SIDE; i += step)
        if (row + i < ARG.rows && col + x < ARG.cols)
            tile[i * LINE + x] = src[(row + i) * ARG.src_row + col + x];
    SYNC();
    for (uint32_t i = y; i < SIDE; i += step)
        if (col + i < ARG.cols && row + x < ARG.rows)
            dst[(uint64_t)(col + i) * ARG.rows + row + x] = tile[x * LINE + i];
}

KERNEL(takt_cuda_attend_recompute_f32, takt_cuda_recompute, 128)
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
