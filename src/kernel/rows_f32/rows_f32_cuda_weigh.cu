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
        r.x[i] = exp_share_f32(r.x[i] - most);
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

enum { SIDE = TAKT_CUDA_TRANSPOSE_SIDE, LINE = SIDE + 1 /* columns are in different banks */ };

/* A square of at most SIDE x SIDE to shared memory, or transposed from there; lines begin `step`
 * floats apart. By quads where all of them are there and aligned. */
typedef struct square {
    uint32_t rows, cols;
    int64_t step;
    bool by_quads;
} square;

DEVICE square square_of(uint32_t rows, uint32_t cols, int64_t step, const void *at)
{
    square s;
    s.rows = rows < SIDE ? rows : SIDE;
    s.cols = cols < SIDE ? cols : SIDE;
    s.step = step;
    s.by_quads = s.cols % 4 == 0 && step % 4 == 0 && ((uintptr_t)at & 15) == 0;
    return s;
}

DEVICE void take_square(const square *s, const float *src, float *tile SELF_PARAMETER)
{
    enum { QUADS = SIDE / 4, LINES = 256 / QUADS };
    const uint32_t x = LANE % QUADS * 4, y = LANE / QUADS;
    quad q[SIDE / LINES];
    if (!s->by_quads) {
        for (uint32_t i = LANE; i < SIDE * SIDE; i += LANES)
            if (i / SIDE < s->rows && i % SIDE < s->cols)
                tile[i / SIDE * LINE + i % SIDE] = src[i / SIDE * s->step + i % SIDE];
        return;
    }
    UNROLL
    for (uint32_t i = 0; i < SIDE / LINES; i++) {
        const uint32_t row = y + i * LINES;
        q[i] = *(const quad *)(src + (row < s->rows && x < s->cols ? row * s->step + x : 0));
    }
    UNROLL
    for (uint32_t i = 0; i < SIDE / LINES; i++)
        spread(tile + (y + i * LINES) * LINE + x, q[i]);
}

DEVICE void give_square(const square *s, float *dst, const float *tile SELF_PARAMETER)
{
    enum { QUADS = SIDE / 4, LINES = 256 / QUADS };
    const uint32_t x = LANE % QUADS * 4;
    if (!s->by_quads) {
        for (uint32_t i = LANE; i < SIDE * SIDE; i += LANES)
            if (i / SIDE < s->rows && i % SIDE < s->cols)
                dst[i / SIDE * s->step + i % SIDE] = tile[i % SIDE * LINE + i / SIDE];
        return;
    }
    for (uint32_t y = LANE / QUADS; y < s->rows; y += LINES) {
        quad q;
        q.x = tile[x * LINE + y];
        q.y = tile[(x + 1) * LINE + y];
        q.z = tile[(x + 2) * LINE + y];
        q.w = tile[(x + 3) * LINE + y];
        if (x < s->cols)
            *(quad *)(dst + y * s->step + x) = q;
    }
}

KERNEL(takt_cuda_transpose_f32, takt_cuda_transpose, 256)
{
    SHARED(float, tile, SIDE *LINE);
    const uint32_t across = (ARG.cols + SIDE - 1) / SIDE;
    const uint32_t row = BLOCK_X / across * SIDE, col = BLOCK_X % across * SIDE;
    const float *src = ARG.src + BLOCK_Z / ARG.inner * ARG.src_outer +
                       BLOCK_Z % ARG.inner * ARG.src_inner + row * ARG.src_row + col;
    float *dst = ARG.dst + (uint64_t)BLOCK_Z * ARG.rows * ARG.cols + (uint64_t)col * ARG.rows + row;
    const square in = square_of(ARG.rows - row, ARG.cols - col, ARG.src_row, src);
    const square out = square_of(ARG.cols - col, ARG.rows - row, ARG.rows, dst);
    take_square(&in, src, tile SELF);
    SYNC();
    give_square(&out, dst, tile SELF);
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
