/* reduce_f32_cuda.cu - reductions on a device: a block takes sixteen results, each by sixteen
 * lanes.
 *
 * Long reductions are cut where the contract cuts them, at chunks of 4096. Those of neighbours are
 * a block each, and the last one adds the chunks in order; of very long ones, chunks are added
 * while others are still computed. For the rest every block of y computes one, and a second kernel
 * combines them in order.
 */
#include "kernel/reduce_f32/cuda_rows.h"

DEVICE float element(const takt_cuda_reduce *r, const float *x, uint64_t i)
{
    return r->run >= r->n ? x[i * r->step] : x[i / r->run * r->run_stride + i % r->run * r->step];
}

/* One lane of one chunk. */
DEVICE float lane_of(uint32_t op, const takt_cuda_reduce *r, uint64_t result, uint32_t lane,
                     uint64_t begin)
{
    float sum = identity(op);
    const uint64_t rest = r->n - begin,
                   end = rest < TAKT_REDUCE_CHUNK ? r->n : begin + TAKT_REDUCE_CHUNK;
    if (result >= r->count)
        return sum;
    const float *x = begin_of(r, result);
    uint64_t i = begin + lane;
    for (; i + (AT_ONCE - 1) * WIDE < end; i += AT_ONCE * WIDE) { /* loads first: none waits */
        float y[AT_ONCE];
        UNROLL
        for (uint32_t k = 0; k < AT_ONCE; k++)
            y[k] = element(r, x, i + k * WIDE);
        UNROLL
        for (uint32_t k = 0; k < AT_ONCE; k++)
            sum = join(op, sum, y[k]);
    }
    for (; i < end; i += WIDE)
        sum = join(op, sum, element(r, x, i));
    return sum;
}

KERNEL(takt_cuda_reduce_f32, takt_cuda_reduce, TAKT_CUDA_REDUCE_THREADS)
{
    SHARED(float, part, THREADS);
    const uint32_t mine = ARG.is_row ? LANE / WIDE : LANE % RESULTS;
    const uint32_t lane = ARG.is_row ? LANE % WIDE : LANE / RESULTS;
    const uint64_t result = (uint64_t)BLOCK_X * RESULTS + mine;
    const uint64_t chunk = (uint64_t)BLOCK_Z * TAKT_CUDA_REDUCE_ROW + BLOCK_Y;
    const uint64_t first = ARG.is_cut ? chunk * TAKT_REDUCE_CHUNK : 0;
    if (first >= ARG.n && ARG.n > 0) /* the last row of chunks need not be full */
        return;
    const uint64_t end = ARG.is_cut && first + TAKT_REDUCE_CHUNK < ARG.n ? first + 1 : ARG.n;
    float total = identity(ARG.op);
    for (uint64_t begin = first; begin < end; begin += TAKT_REDUCE_CHUNK) {
        part[mine * WIDE + lane] = BY_OP(lane_of, ARG.op, &ARG, result, lane, begin);
        SYNC();
        if (lane == 0) {
            const float sum = BY_OP(fold, ARG.op, part + mine * WIDE);
            total = begin == first ? sum : merge(ARG.op, total, sum);
        }
        SYNC();
    }
    if (lane == 0 && result < ARG.count)
        ((float *)ARG.dst)[(ARG.is_cut ? chunk * ARG.count : 0) + result] = total;
}

/* ---- rows ---- */

KERNEL(takt_cuda_reduce_row_f32, takt_cuda_reduce, ROW_THREADS)
{
    SHARED(float, x, TAKT_REDUCE_CHUNK);
    const uint64_t chunks = ARG.n > 0 ? (ARG.n + TAKT_REDUCE_CHUNK - 1) / TAKT_REDUCE_CHUNK : 1;
    const uint64_t result = BLOCK_X / chunks, chunk = BLOCK_X % chunks;
    const uint64_t begin = chunk * TAKT_REDUCE_CHUNK, rest = ARG.n - begin;
    const uint32_t n = rest < TAKT_REDUCE_CHUNK ? (uint32_t)rest : TAKT_REDUCE_CHUNK;
    const float sum = chunk_of(&ARG, begin_of(&ARG, result) + begin, n, x SELF);
    if (chunks == 1) {
        if (LANE == 0)
            ((float *)ARG.dst)[result] = sum;
        return;
    }
    if (LANE == 0) {
        ARG.partial[chunk * ARG.count + result] = sum;
        publish_near();
        *(uint32_t *)x = is_last(ARG.tickets + result, (uint32_t)chunks - 1);
    }
    SYNC();
    const bool is_last_block = *(const uint32_t *)x != 0;
    SYNC();
    if (is_last_block)
        add_chunks(&ARG, result, (uint32_t)chunks, x SELF); /* longer rows are the next kernel's */
}

KERNEL(takt_cuda_reduce_long_f32, takt_cuda_reduce, 128, 2)
{
    DYNAMIC(float, x);
    const uint64_t chunks = (ARG.n + TAKT_REDUCE_CHUNK - 1) / TAKT_REDUCE_CHUNK;
    if (BLOCK_X == 0) {
        add_posts(&ARG, chunks, x SELF);
        return;
    }
    course c;
    c.each = (chunks + CHUNKS - 1) / CHUNKS;
    c.items = c.each * ARG.count;
    c.first = BLOCK_X - 1;
    c.step = ARG.blocks;
    post_chunks(&ARG, &c, chunks, x SELF);
}

KERNEL(takt_cuda_combine_f32, takt_cuda_combine, TAKT_CUDA_REDUCE_THREADS)
{
    const uint64_t result = INDEX;
    if (result >= ARG.count)
        return;
    float total = ARG.src[result];
    uint64_t k = 1;
    for (; k + AT_ONCE <= ARG.chunks; k += AT_ONCE) {
        float y[AT_ONCE];
        UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++)
            y[j] = ARG.src[(k + j) * ARG.count + result];
        UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++)
            total = merge(ARG.op, total, y[j]);
    }
    for (; k < ARG.chunks; k++)
        total = merge(ARG.op, total, ARG.src[k * ARG.count + result]);
    ARG.dst[result] = total;
}

/* ---- position of the extreme ---- */

typedef struct best {
    float value;
    uint64_t at; /* UINT64_MAX: nothing seen */
} best;

/* The better of two: NaN before all, then the extreme, then the first place, or the last. */
DEVICE best better(best a, best b, bool is_max, bool is_last)
{
    if (a.at == UINT64_MAX || b.at == UINT64_MAX)
        return a.at == UINT64_MAX ? b : a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan)
        return a_nan ? a : b;
    if (!a_nan && a.value != b.value)
        return (is_max ? a.value > b.value : a.value < b.value) ? a : b;
    return (a.at < b.at) != is_last ? a : b;
}

KERNEL(takt_cuda_reduce_arg_f32, takt_cuda_reduce, TAKT_CUDA_REDUCE_THREADS)
{
    SHARED(best, part, THREADS);
    const bool is_max = ARG.op == TAKT_REDUCE_ARGMAX || ARG.op == TAKT_REDUCE_ARGMAX_LAST;
    const bool is_last = ARG.op == TAKT_REDUCE_ARGMAX_LAST || ARG.op == TAKT_REDUCE_ARGMIN_LAST;
    const uint32_t mine = ARG.is_row ? LANE / WIDE : LANE % RESULTS;
    const uint32_t lane = ARG.is_row ? LANE % WIDE : LANE / RESULTS;
    const uint64_t result = (uint64_t)BLOCK_X * RESULTS + mine;
    best b = {0.0f, UINT64_MAX};
    const float *x = begin_of(&ARG, result < ARG.count ? result : 0);
    for (uint64_t i = lane; i < ARG.n && result < ARG.count; i += WIDE) {
        const best next = {element(&ARG, x, i), i};
        b = better(b, next, is_max, is_last);
    }
    part[mine * WIDE + lane] = b;
    SYNC();
    if (lane != 0 || result >= ARG.count)
        return;
    for (uint32_t k = 1; k < WIDE; k++)
        b = better(b, part[mine * WIDE + k], is_max, is_last);
    ((int64_t *)ARG.dst)[result] = b.at == UINT64_MAX ? 0 : (int64_t)b.at;
}
