/* rows_f32_cuda_attend.cu - attention with lengths, or over a cache of fewer bits, on a device.
 *
 * A block has a query of a head. Keys that are absent are not read. Sums have the orders of products
 * (chunks of 256) and of rows; the maximum is exact, and nothing is rescaled.
 */
#include "kernel/rows_f32/cuda_block.h"

#include <takt/tensor.h>

enum { CHAIN = TAKT_CUDA_GEMM_CHUNK };

/* One head of k or v at one key. */
typedef struct head_row {
    const void *data;
    uint32_t dtype;
    uint64_t first; /* element of the row */
} head_row;

/* `width`: elements of a row; blocks of q8_0 have 32 in 34 bytes. */
DEVICE head_row head_at(const void *data, uint32_t dtype, uint64_t row, uint64_t width,
                        uint64_t first)
{
    head_row r;
    r.dtype = dtype;
    r.first = first;
    r.data = dtype == TAKT_F32  ? (const void *)((const float *)data + row * width)
             : dtype == TAKT_U8 ? (const void *)((const uint8_t *)data + row * (width / 32 * 34))
                                : (const void *)((const uint16_t *)data + row * width);
    return r;
}

DEVICE float number_of(const head_row *r, uint32_t i)
{
    const uint64_t at = r->first + i;
    if (r->dtype == TAKT_F32)
        return ((const float *)r->data)[at];
    if (r->dtype == TAKT_F16)
        return half_from_f16(((const uint16_t *)r->data)[at]);
    if (r->dtype == TAKT_BF16)
        return half_from_bf16(((const uint16_t *)r->data)[at]);
    const uint8_t *b = (const uint8_t *)r->data + at / 32 * 34;
    return (float)(int8_t)b[2 + at % 32] * half_from_f16((uint16_t)(b[0] | b[1] << 8));
}

/* Keys that a query sees. */
DEVICE uint32_t seen_by(const takt_cuda_attend *a, uint32_t b, uint32_t query)
{
    int64_t present = a->keys;
    if (a->length != NULL) {
        present = a->is_narrow ? ((const int32_t *)a->length)[b] : ((const int64_t *)a->length)[b];
        if (present < 0 || present > (int64_t)a->keys) {
            least(a->fault, b);
            present = 0;
        }
    }
    const int64_t limit = a->is_causal ? query + present - (int64_t)a->queries + 1 : present;
    return limit > 0 ? (uint32_t)limit : 0;
}

DEVICE float score_of(const takt_cuda_attend *a, const float *q, const head_row *k)
{
    float total = 0.0f, acc = 0.0f;
    for (uint32_t i = 0; i < a->dim; i++) {
        acc = fmaf(q[i], number_of(k, i), acc);
        if (i + 1 == a->dim || (i + 1) % CHAIN == 0) {
            total = i < CHAIN ? acc : total + acc;
            acc = 0.0f;
        }
    }
    return total;
}

/* A chunk of keys of one column of v. */
DEVICE float mixed(const takt_cuda_attend *a, const float *weights, uint64_t row, uint64_t width,
                   uint64_t first, uint32_t count)
{
    float acc = 0.0f;
    for (uint32_t t = 0; t < count; t++) {
        const head_row v = head_at(a->v, a->v_dtype, row + t, width, first);
        acc = fmaf(weights[t], number_of(&v, 0), acc);
    }
    return acc;
}

KERNEL(takt_cuda_attend_f32, takt_cuda_attend, TAKT_CUDA_WEIGH_THREADS)
{
    DYNAMIC(float, shared);
    const uint32_t query = BLOCK_X % ARG.queries, plane = BLOCK_X / ARG.queries;
    const uint32_t head = plane % ARG.heads, b = plane / ARG.heads;
    const uint32_t heads = ARG.heads / ARG.group, own = head / ARG.group;
    const uint32_t limit = seen_by(&ARG, b, query);
    const uint64_t place = ((uint64_t)b * ARG.queries + query) * ARG.heads + head;
    const float *mask = ARG.mask;
    float *part = shared + LANES;
    const held_row r = {shared + 2 * LANES, limit, shared};
    float most = -INFINITY;
    if (mask != NULL)
        mask += b * ARG.mask_stride[0] + head * ARG.mask_stride[1] + query * ARG.mask_stride[2];
    for (uint32_t t = LANE; t < limit; t += LANES) {
        const head_row k = head_at(ARG.k, ARG.k_dtype, (uint64_t)b * ARG.keys + t,
                                   (uint64_t)heads * ARG.dim, (uint64_t)own * ARG.dim);
        float x = score_of(&ARG, ARG.q + place * ARG.dim, &k) * ARG.scale;
        if (mask != NULL)
            x = x + mask[t * ARG.mask_stride[3]];
        r.x[t] = x;
        most = x > most ? x : most;
    }
    most = block_max(&r, most SELF);
    for (uint32_t t = LANE; t < limit; t += LANES)
        r.x[t] = exp_share_f32(r.x[t] - most);
    SYNC();
    const float scale = 1.0f / block_sum(&r, PLAIN, 0 SELF);
    for (uint32_t t = LANE; t < limit; t += LANES)
        r.x[t] = r.x[t] * scale;
    SYNC();
    /* Adjacent columns of v, and as many chunks of keys at once as the remaining threads allow. */
    const uint32_t wide = ARG.size < LANES ? ARG.size : LANES, together = LANES / wide;
    const uint32_t column = LANE % wide, slot = LANE / wide;
    const uint32_t chunks = (limit + CHAIN - 1) / CHAIN;
    for (uint32_t j = column; j - column < ARG.size; j += wide) {
        float total = 0.0f;
        for (uint32_t c = 0; c < chunks; c += together) {
            const uint32_t from = (c + slot) * CHAIN;
            if (j < ARG.size && slot < together && from < limit)
                part[LANE] = mixed(&ARG, r.x + from, (uint64_t)b * ARG.keys + from,
                                   (uint64_t)heads * ARG.size, (uint64_t)own * ARG.size + j,
                                   limit - from < CHAIN ? limit - from : CHAIN);
            SYNC();
            for (uint32_t s = 0; s < together && c + s < chunks; s++)
                total = c + s == 0 ? part[s * wide + column] : total + part[s * wide + column];
            SYNC();
        }
        if (slot == 0 && j < ARG.size)
            ARG.out[place * ARG.size + j] = total;
    }
}
