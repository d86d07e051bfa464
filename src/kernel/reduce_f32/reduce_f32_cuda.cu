/* reduce_f32_cuda.cu - reductions on a device: a block takes sixteen results, each by sixteen
 * lanes.
 *
 * Long reductions are cut where the contract cuts them, at chunks of 4096. Those of neighbours are
 * a block each, and chunks are added in order while others are still computed. For the rest every
 * block of y computes one, and a second kernel combines them in order.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.h"
#include "kernel/reduce/reduce.h"

enum {
    THREADS = TAKT_CUDA_REDUCE_THREADS,
    RESULTS = TAKT_CUDA_REDUCE_RESULTS,
    WIDE = 16,
    AT_ONCE = 16
};

DEVICE float identity(uint32_t op)
{
    return op == TAKT_REDUCE_MAX    ? -INFINITY
           : op == TAKT_REDUCE_MIN  ? INFINITY
           : op == TAKT_REDUCE_PROD ? 1.0f
                                    : 0.0f;
}

DEVICE float join(uint32_t op, float lane, float x)
{
    switch (op) {
    case TAKT_REDUCE_MAX: return vf_max(lane, x);
    case TAKT_REDUCE_MIN: return vf_min(lane, x);
    case TAKT_REDUCE_PROD: return lane * x;
    case TAKT_REDUCE_SUMSQ: return fmaf(x, x, lane);
    default: return lane + x;
    }
}

DEVICE float merge(uint32_t op, float a, float b)
{
    return join(op == TAKT_REDUCE_SUMSQ ? TAKT_REDUCE_SUM : op, a, b);
}

/* The first element of a result. */
DEVICE const float *begin_of(const takt_cuda_reduce *r, uint64_t result)
{
    return r->src + result / r->inner * r->outer_stride + result % r->inner * r->across;
}

DEVICE float element(const takt_cuda_reduce *r, const float *x, uint64_t i)
{
    return r->run >= r->n ? x[i * r->step] : x[i / r->run * r->run_stride + i % r->run * r->step];
}

DEVICE float fold(uint32_t op, float *v)
{
    for (int half = WIDE / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            v[k] = merge(op, v[k], v[k + half]);
    return v[0];
}

/* The same as `run(op, ...)` with `op` known where it is compiled: no switch for every element. */
#define BY_OP(run, op, ...)                                                                        \
    ((op) == TAKT_REDUCE_SUM     ? run(TAKT_REDUCE_SUM, __VA_ARGS__)                               \
     : (op) == TAKT_REDUCE_SUMSQ ? run(TAKT_REDUCE_SUMSQ, __VA_ARGS__)                             \
     : (op) == TAKT_REDUCE_MAX   ? run(TAKT_REDUCE_MAX, __VA_ARGS__)                               \
     : (op) == TAKT_REDUCE_MIN   ? run(TAKT_REDUCE_MIN, __VA_ARGS__)                               \
                                 : run(TAKT_REDUCE_PROD, __VA_ARGS__))

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
            const float sum = fold(ARG.op, part + mine * WIDE);
            total = begin == first ? sum : merge(ARG.op, total, sum);
        }
        SYNC();
    }
    if (lane == 0 && result < ARG.count)
        ((float *)ARG.dst)[(ARG.is_cut ? chunk * ARG.count : 0) + result] = total;
}

/* ---- rows: a block brings a chunk to shared memory, and sixteen threads add it ---- */

enum { GROUP = TAKT_CUDA_REDUCE_GROUP };

DEVICE float lane_in(uint32_t op, const float *x, uint32_t n, uint32_t lane)
{
    float sum = identity(op);
    uint32_t i = lane;
    for (; i + (AT_ONCE - 1) * WIDE < n; i += AT_ONCE * WIDE) {
        float y[AT_ONCE];
        UNROLL
        for (uint32_t k = 0; k < AT_ONCE; k++)
            y[k] = x[i + k * WIDE];
        UNROLL
        for (uint32_t k = 0; k < AT_ONCE; k++)
            sum = join(op, sum, y[k]);
    }
    for (; i < n; i += WIDE)
        sum = join(op, sum, x[i]);
    return sum;
}

/* The same with twice as many loads in flight, for memory that is further away. */
DEVICE float lane_far(uint32_t op, const float *x, uint32_t n, uint32_t lane)
{
    enum { MANY = 2 * AT_ONCE };
    float sum = identity(op);
    uint32_t i = lane;
    for (; i + (MANY - 1) * WIDE < n; i += MANY * WIDE) {
        float y[MANY];
        UNROLL
        for (uint32_t k = 0; k < MANY; k++)
            y[k] = x[i + k * WIDE];
        UNROLL
        for (uint32_t k = 0; k < MANY; k++)
            sum = join(op, sum, y[k]);
    }
    for (; i < n; i += WIDE)
        sum = join(op, sum, x[i]);
    return sum;
}

/* The reduction of n <= 4096 neighbours; thread 0 has it. */
DEVICE float chunk_of(const takt_cuda_reduce *r, const float *from, uint32_t n,
                      float *x SELF_PARAMETER)
{
    if (n % 4 == 0 && ((uintptr_t)from & 15) == 0)
        for (uint32_t i = 4 * LANE; i < n; i += 4 * LANES)
            copy_async(x + i, from + i);
    else
        for (uint32_t i = LANE; i < n; i += LANES)
            copy_async_one(x + i, from + i);
    copy_end();
    COPY_WAIT(0);
    SYNC();
    float sum = 0.0f;
    if (LANE < WIDE)
        sum = BY_OP(lane_in, r->op, x, n, LANE);
    SYNC();
    if (LANE < WIDE)
        x[LANE] = sum;
    SYNC();
    return LANE == 0 ? fold(r->op, x) : 0.0f;
}

/* Words of a result: a lock, how many groups of chunks are added, and the chunks of each group that
 * are there. */
typedef struct tally {
    uint32_t *lock, *added, *arrived;
    uint32_t groups;
} tally;

DEVICE uint32_t group_size(uint64_t chunks, uint32_t group)
{
    const uint64_t rest = chunks - (uint64_t)group * GROUP;
    return rest < GROUP ? (uint32_t)rest : GROUP;
}

DEVICE void read_quads(float *to, const float *from)
{
    UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j += 4)
        spread(to + j, *(const quad *)(from + j));
}

/* m parts from shared memory, four at a time. */
DEVICE float joined_quads(uint32_t op, float total, const float *part, uint32_t m, bool first)
{
    uint32_t k = 0;
    if (first) {
        total = part[0];
        for (k = 1; k < 4 && k < m; k++)
            total = merge(op, total, part[k]);
    }
    if (k + AT_ONCE <= m) { /* the next ones are loaded while these are added */
        float y[AT_ONCE], z[AT_ONCE];
        read_quads(y, part + k);
        for (k += AT_ONCE; k + AT_ONCE <= m; k += AT_ONCE) {
            read_quads(z, part + k);
            UNROLL
            for (uint32_t j = 0; j < AT_ONCE; j++)
                total = merge(op, total, y[j]);
            UNROLL
            for (uint32_t j = 0; j < AT_ONCE; j++)
                y[j] = z[j];
        }
        UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++)
            total = merge(op, total, y[j]);
    }
    for (; k < m; k++)
        total = merge(op, total, part[k]);
    return total;
}

DEVICE bool is_complete(const tally *t, uint64_t chunks, uint32_t group)
{
    return group < t->groups && look(t->arrived + group) == group_size(chunks, group);
}

/* Adds group after group, in order, as long as the next one is complete. Only the owner of the lock
 * adds, and no block waits: a block that completes a group while the lock is taken leaves it to the
 * owner, which looks again after releasing the lock. While one thread adds a group, another checks
 * whether the one after the next is complete, and the second half of the block brings the next. */
DEVICE void add_groups(const takt_cuda_reduce *r, uint64_t result, uint64_t chunks, const tally *t,
                       float *part SELF_PARAMETER)
{
    float *dst = (float *)r->dst + result;
    uint32_t *state = (uint32_t *)(part + 2 * GROUP); /* [0]: mine; [1], [2]: groups to come */
    const uint32_t half = LANES / 2;
    for (;;) {
        SYNC();
        if (LANE == 0) {
            publish_near(); /* what this block did is seen before it looks at the lock */
            const uint32_t next = look(t->added);
            state[0] = is_complete(t, chunks, next) && take(t->lock);
        }
        SYNC();
        if (state[0] == 0)
            return;
        publish_near();
        uint32_t next = look(t->added);
        float total = next > 0 ? fresh_one(dst) : 0.0f;
        SYNC();
        if (LANE == 0) /* another may have added it before the lock was taken */
            state[1 + next % 2] = is_complete(t, chunks, next);
        if (LANE == 1)
            state[1 + (next + 1) % 2] = is_complete(t, chunks, next + 1);
        SYNC();
        const bool is_ready = state[1 + next % 2] != 0;
        publish_near();
        for (uint32_t k = LANE; is_ready && k < group_size(chunks, next); k += LANES)
            part[next % 2 * GROUP + k] =
                fresh_one(r->partial + ((uint64_t)next * GROUP + k) * r->count + result);
        SYNC();
        for (bool goes_on = is_ready; goes_on; next++) {
            const bool has_next = state[1 + (next + 1) % 2] != 0;
            SYNC();
            if (LANE == 0)
                total = BY_OP(joined_quads, r->op, total, part + next % 2 * GROUP,
                              group_size(chunks, next), next == 0);
            else if (LANE == half - 1)
                state[1 + next % 2] = is_complete(t, chunks, next + 2);
            else if (LANE >= half && has_next) {
                publish_near();
                for (uint32_t k = LANE - half; k < group_size(chunks, next + 1); k += half)
                    part[(next + 1) % 2 * GROUP + k] = fresh_one(
                        r->partial + ((uint64_t)(next + 1) * GROUP + k) * r->count + result);
            }
            SYNC();
            goes_on = has_next;
        }
        if (LANE == 0) {
            if (is_ready) /* else another block has added all of them meanwhile */
                *dst = total;
            publish_near();
            *t->added = next == t->groups ? 0 : next;
            for (uint32_t g = 0; next == t->groups && g < t->groups; g++)
                t->arrived[g] = 0;
            give(t->lock);
        }
        SYNC();
        if (next == t->groups)
            return;
    }
}

/* The only group, by the block that completes it. */
DEVICE void add_group(const takt_cuda_reduce *r, uint64_t result, uint64_t chunks, const tally *t,
                      float *part SELF_PARAMETER)
{
    publish_near();
    for (uint32_t k = LANE; k < chunks; k += LANES)
        part[k] = fresh_one(r->partial + k * r->count + result);
    SYNC();
    if (LANE == 0) {
        ((float *)r->dst)[result] = BY_OP(joined_quads, r->op, 0.0f, part, (uint32_t)chunks, true);
        *t->arrived = 0;
    }
}

/* `count` chunks of a group, from `chunk` on, have been published: whether it is complete. */
DEVICE bool is_complete_by(uint64_t chunks, uint64_t chunk, uint32_t count, const tally *t,
                           float *x SELF_PARAMETER)
{
    const uint32_t group = (uint32_t)(chunk / GROUP);
    SYNC();
    if (LANE == 0)
        *(uint32_t *)x = add_some(t->arrived + group, count) + count == group_size(chunks, group);
    SYNC();
    const bool completes = *(const uint32_t *)x != 0;
    SYNC();
    return completes;
}

KERNEL(takt_cuda_reduce_row_f32, takt_cuda_reduce, 128)
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
    tally t;
    t.groups = (uint32_t)((chunks + GROUP - 1) / GROUP);
    t.lock = ARG.tickets + result * (2 + t.groups);
    t.added = t.lock + 1;
    t.arrived = t.lock + 2;
    if (LANE == 0) {
        ARG.partial[chunk * ARG.count + result] = sum;
        publish_near();
    }
    if (is_complete_by(chunks, chunk, 1, &t, x SELF))
        add_group(&ARG, result, chunks, &t, x SELF); /* longer rows are the next kernel's */
}

/* Very long rows: a block takes eight chunks, sixteen threads each, from global memory. */
KERNEL(takt_cuda_reduce_long_f32, takt_cuda_reduce, 128, 6)
{
    SHARED(float, x, 2 * TAKT_CUDA_REDUCE_GROUP + 4);
    const uint64_t chunks = (ARG.n + TAKT_REDUCE_CHUNK - 1) / TAKT_REDUCE_CHUNK;
    const uint64_t blocks = (chunks + TAKT_CUDA_REDUCE_EACH - 1) / TAKT_CUDA_REDUCE_EACH;
    const uint64_t result = BLOCK_X / blocks, first = BLOCK_X % blocks * TAKT_CUDA_REDUCE_EACH;
    const uint64_t chunk = first + LANE / WIDE, begin = chunk * TAKT_REDUCE_CHUNK;
    const uint64_t rest = chunk < chunks ? ARG.n - begin : 0;
    const uint32_t n = rest < TAKT_REDUCE_CHUNK ? (uint32_t)rest : TAKT_REDUCE_CHUNK;
    const uint32_t lane = LANE % WIDE;
    x[LANE] = BY_OP(lane_far, ARG.op, begin_of(&ARG, result) + begin, n, lane);
    SYNC();
    if (lane == 0 && chunk < chunks) {
        ARG.partial[chunk * ARG.count + result] = fold(ARG.op, x + LANE);
        publish_near();
    }
    tally t;
    t.groups = (uint32_t)((chunks + GROUP - 1) / GROUP);
    t.lock = ARG.tickets + result * (2 + t.groups);
    t.added = t.lock + 1;
    t.arrived = t.lock + 2;
    const uint64_t left = chunks - first;
    const uint32_t count = left < TAKT_CUDA_REDUCE_EACH ? (uint32_t)left : TAKT_CUDA_REDUCE_EACH;
    if (!is_complete_by(chunks, first, count, &t, x SELF))
        return;
    if (t.groups == 1)
        add_group(&ARG, result, chunks, &t, x SELF);
    else
        add_groups(&ARG, result, chunks, &t, x SELF);
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

/* ---- where the extreme lies ---- */

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
