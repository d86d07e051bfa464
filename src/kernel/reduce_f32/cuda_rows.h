/* cuda_rows.h - reductions of neighbours on a device, chunk by chunk: for reduce_f32_cuda.cu. */
#ifndef TAKT_KERNEL_REDUCE_F32_CUDA_ROWS_H
#define TAKT_KERNEL_REDUCE_F32_CUDA_ROWS_H

#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"
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

/* Sixteen lanes in shared memory: they are loaded together, since a chain of loads and stores takes
 * longer than the additions. */
DEVICE float fold(uint32_t op, const float *lane)
{
    float v[WIDE];
    UNROLL
    for (int k = 0; k < WIDE; k++)
        v[k] = lane[k];
    UNROLL
    for (int k = 0; k < 8; k++)
        v[k] = merge(op, v[k], v[k + 8]);
    UNROLL
    for (int k = 0; k < 4; k++)
        v[k] = merge(op, v[k], v[k + 4]);
    return merge(op, merge(op, v[0], v[2]), merge(op, v[1], v[3]));
}

/* The same in place, in few instructions: kernels of long rows need their registers elsewhere. */
DEVICE float fold_there(uint32_t op, float *v)
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

/* ---- rows: a block brings a chunk to shared memory, and sixteen threads add it ---- */

enum { GROUP = TAKT_CUDA_REDUCE_GROUP, ROW_THREADS = 128 };

DEVICE void read_lane(float *y, const float *x)
{
    UNROLL
    for (uint32_t k = 0; k < AT_ONCE; k++)
        y[k] = x[k * WIDE];
}

/* The next elements are loaded while these are added. */
DEVICE float lane_in(uint32_t op, const float *x, uint32_t n, uint32_t lane)
{
    enum { STEP = AT_ONCE * WIDE };
    float sum = identity(op);
    uint32_t i = lane;
    if (i + STEP - WIDE < n) {
        float y[AT_ONCE], z[AT_ONCE];
        read_lane(y, x + i);
        ROLL for (i += STEP; i + STEP - WIDE < n; i += STEP)
        {
            read_lane(z, x + i);
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                sum = join(op, sum, y[k]);
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                y[k] = z[k];
        }
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
    if (n % 4 == 0 && ((uintptr_t)from & 15) == 0) {
        const address to = address_of(x + 4 * LANE);
        UNROLL
        for (uint32_t i = 0; i < TAKT_REDUCE_CHUNK; i += 4 * ROW_THREADS)
            copy_async_if(4 * LANE + i < n, to, 4 * i, from + 4 * LANE + i);
    } else {
        for (uint32_t i = LANE; i < n; i += LANES)
            copy_async_one(x + i, from + i);
    }
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
    return LANE == 0 ? BY_OP(fold, r->op, x) : 0.0f;
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

/* `count` sums, `step` apart, come to shared memory by threads `me` of `all`. Loads first: one at a
 * time, they took twice as long as the rest of the reduction. */
DEVICE void bring_group(const float *from, uint64_t step, uint32_t count, uint32_t me, uint32_t all,
                        float *part)
{
    uint32_t k = me;
    for (; k + (AT_ONCE - 1) * all < count; k += AT_ONCE * all) {
        float y[AT_ONCE];
        UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++)
            y[j] = fresh_one(from + (k + j * all) * step);
        UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++)
            part[k + j * all] = y[j];
    }
    for (; k < count; k += all)
        part[k] = fresh_one(from + k * step);
}

/* Adds group after group, in order, as long as the next one is complete. Only the owner of the lock
 * adds, and no block waits: a block that completes a group while the lock is taken leaves it to the
 * owner, which looks again after releasing the lock. While one thread adds a group, another checks
 * whether the one after the next is complete, and the second half of the block brings the next. */
DEVICE void add_groups(const takt_cuda_reduce *r, uint64_t result, uint64_t chunks, const tally *t,
                       float *part SELF_PARAMETER)
{
    float *dst = (float *)r->dst + result;
    const float *sums = r->partial + result;
    const uint64_t each = GROUP * r->count;           /* floats from one group to the next */
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
        if (is_ready)
            bring_group(sums + next * each, r->count, group_size(chunks, next), LANE, LANES,
                        part + next % 2 * GROUP);
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
                bring_group(sums + (next + 1) * each, r->count, group_size(chunks, next + 1),
                            LANE - half, half, part + (next + 1) % 2 * GROUP);
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
    bring_group(r->partial + result, r->count, (uint32_t)chunks, LANE, LANES, part);
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

/* ---- very long rows: a block takes eight chunks, sixteen threads each ---- */

/* Pieces of all chunks come to shared memory, sixteen bytes a copy: 4 KB of a chunk at a time,
 * since memory gives less for pieces of 1 KB. Two chunks that a warp reads lie in different banks.
 */
enum {
    CHUNKS = TAKT_CUDA_REDUCE_EACH,
    PIECE = TAKT_CUDA_REDUCE_PIECE,
    LINE = TAKT_CUDA_REDUCE_LINE,
    STAGES = 2,
    STAGE = CHUNKS * LINE
};

/* A piece of every chunk, from the thread's first element on to its first place. */
DEVICE void bring_piece(const float *from, uint32_t piece, address to)
{
    enum { THREADS_OF = CHUNKS * WIDE, QUADS = PIECE / 4 };
    const uint32_t stage = piece % STAGES * (STAGE * 4);
    const float *next = from + piece * PIECE;
    UNROLL
    for (uint32_t i = 0; i < CHUNKS * PIECE / 4; i += THREADS_OF)
        copy_async_if(piece < TAKT_REDUCE_CHUNK / PIECE, to,
                      stage + (i / QUADS * LINE + i % QUADS * 4) * 4,
                      next + i / QUADS * TAKT_REDUCE_CHUNK + i % QUADS * 4);
    copy_end();
}

/* A lane of eight whole chunks from `from` on. */
DEVICE float lane_staged(uint32_t op, const float *from, float *x SELF_PARAMETER)
{
    const uint32_t chunk = LANE / (PIECE / 4), at = LANE % (PIECE / 4) * 4;
    const address to = address_of(x + chunk * LINE + at);
    float sum = identity(op);
    from += chunk * TAKT_REDUCE_CHUNK + at;
    UNROLL
    for (uint32_t p = 0; p < STAGES - 1; p++)
        bring_piece(from, p, to);
    ROLL for (uint32_t p = 0; p < TAKT_REDUCE_CHUNK / PIECE; p++)
    {
        COPY_WAIT(STAGES - 2);
        SYNC();
        bring_piece(from, p + STAGES - 1, to);
        const float *own = x + p % STAGES * STAGE + LANE / WIDE * LINE + LANE % WIDE;
        float y[PIECE / WIDE];
        UNROLL
        for (uint32_t k = 0; k < PIECE / WIDE; k++)
            y[k] = own[k * WIDE];
        UNROLL
        for (uint32_t k = 0; k < PIECE / WIDE; k++)
            sum = join(op, sum, y[k]);
    }
    SYNC();
    return sum;
}

#endif
