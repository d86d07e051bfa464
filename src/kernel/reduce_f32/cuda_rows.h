/* cuda_rows.h - reductions of neighbours on a device, chunk by chunk: for reduce_f32_cuda.cu. */
#ifndef TAKT_KERNEL_REDUCE_F32_CUDA_ROWS_H
#define TAKT_KERNEL_REDUCE_F32_CUDA_ROWS_H

#include "kernel/cuda/args.h"
#include "kernel/cuda/lanes.h"
#include "kernel/cuda/math.inc"
#include "kernel/cuda/posts.h"
#include "kernel/reduce/reduce.h"

enum { THREADS = TAKT_CUDA_REDUCE_THREADS, RESULTS = TAKT_CUDA_REDUCE_RESULTS };

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

enum { ROW_THREADS = 128 };

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

/* The reduction of n <= 4096 neighbours; valid in thread 0. */
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

/* Threads `me` of `all` copy `count` sums, `step` apart, to shared memory. All loads come first:
 * one at a time, they took twice as long as the rest of the reduction. */
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

/* The sums of a row's chunks in order, by the block that was last. */
DEVICE void add_chunks(const takt_cuda_reduce *r, uint64_t result, uint32_t chunks,
                       float *part SELF_PARAMETER)
{
    publish_near();
    bring_group(r->partial + result, r->count, chunks, LANE, LANES, part);
    SYNC();
    if (LANE == 0)
        ((float *)r->dst)[result] = BY_OP(joined_quads, r->op, 0.0f, part, chunks, true);
}

/* ---- very long rows ----
 *
 * As many blocks as the device has at once take two chunks after two chunks, and always have the
 * next ones on their way, in order: memory gives less for pieces of a few KB that lie apart. They
 * post the sum of a chunk; the first block takes posts in order and adds them: additions that
 * depend on each other take half as long as the memory needs, if nothing waits for them.
 */

enum {
    CHUNKS = TAKT_CUDA_REDUCE_EACH,
    LINE = TAKT_CUDA_REDUCE_LINE, /* two chunks that a warp reads are in different banks */
    STAGES = TAKT_CUDA_REDUCE_STAGES,
    STAGE = CHUNKS * LINE,
    ADDERS = CHUNKS * WIDE,         /* threads that add; all bring */
    POSTS = TAKT_CUDA_REDUCE_POSTS, /* that are taken at a time, by the second half of the block */
    TAKERS = ROW_THREADS / 2
};

/* The work of a block: items `first`, `first + step`, ... of two chunks of a row. */
typedef struct course {
    uint64_t first, step, items, each; /* each: of a row */
} course;

/* The first element of an item, if all its chunks are whole and come by quads; else NULL. */
DEVICE const float *item_of(const takt_cuda_reduce *r, const course *c, uint64_t item)
{
    const uint64_t at = item % c->each * (CHUNKS * TAKT_REDUCE_CHUNK);
    if (item >= c->items || at + CHUNKS * TAKT_REDUCE_CHUNK > r->n)
        return NULL;
    const float *from = begin_of(r, item / c->each) + at;
    return ((uintptr_t)from & 15) == 0 ? from : NULL;
}

/* Loads item `turn` of the block into its stage; `to` is the thread's position there. */
DEVICE void bring_item(const takt_cuda_reduce *r, const course *c, uint64_t turn, address to,
                       uint32_t thread)
{
    const float *from = item_of(r, c, c->first + turn * c->step);
    if (from != NULL) {
        const uint32_t stage = (uint32_t)(turn % STAGES) * (STAGE * 4);
        from += 4 * thread;
        UNROLL
        for (uint32_t i = 0; i < CHUNKS * TAKT_REDUCE_CHUNK; i += 4 * ROW_THREADS)
            copy_async_if(true, to,
                          stage + (i / TAKT_REDUCE_CHUNK * LINE + i % TAKT_REDUCE_CHUNK) * 4,
                          from + i);
    }
    copy_end();
}

/* A lane of the item. */
DEVICE float lane_of_item(uint32_t op, const takt_cuda_reduce *r, const course *c, uint64_t turn,
                          const float *x, uint32_t thread)
{
    const uint64_t item = c->first + turn * c->step;
    const uint32_t lane = thread % WIDE;
    if (item_of(r, c, item) != NULL)
        return lane_in(op, x + turn % STAGES * STAGE + thread / WIDE * LINE, TAKT_REDUCE_CHUNK,
                       lane);
    const uint64_t begin = (item % c->each * CHUNKS + thread / WIDE) * TAKT_REDUCE_CHUNK;
    const uint64_t rest = begin < r->n ? r->n - begin : 0;
    return lane_far(op, begin_of(r, item / c->each) + begin,
                    rest < TAKT_REDUCE_CHUNK ? (uint32_t)rest : TAKT_REDUCE_CHUNK, lane);
}

/* The chunk of sixteen lanes, by the first of them. */
DEVICE void post_chunk(const takt_cuda_reduce *r, const course *c, uint64_t turn, uint64_t chunks,
                       const float *lanes, uint32_t thread)
{
    const uint64_t item = c->first + turn * c->step;
    const uint64_t chunk = item % c->each * CHUNKS + thread / WIDE;
    if (thread % WIDE == 0 && thread < ADDERS && chunk < chunks)
        post(r->tickets + 2 * (item / c->each * chunks + chunk),
             BY_OP(fold, r->op, lanes + turn % 2 * ADDERS + thread));
}

/* Chunks of the block's items. The sum of an iteration is posted in the next one, after its
 * barrier. */
DEVICE void post_chunks(const takt_cuda_reduce *r, const course *c, uint64_t chunks,
                        float *x SELF_PARAMETER)
{
    const address to = address_of(x + 4 * LANE);
    float *lanes = x + STAGES * STAGE;
    UNROLL
    for (uint32_t i = 0; i + 1 < STAGES; i++)
        bring_item(r, c, i, to, LANE);
    uint64_t turn = 0;
    ROLL for (; c->first + turn * c->step < c->items; turn++)
    {
        COPY_WAIT(STAGES - 2);
        SYNC();
        bring_item(r, c, turn + STAGES - 1, to, LANE);
        if (turn > 0)
            post_chunk(r, c, turn - 1, chunks, lanes, LANE);
        if (LANE < ADDERS)
            lanes[turn % 2 * ADDERS + LANE] = BY_OP(lane_of_item, r->op, r, c, turn, x, LANE);
    }
    SYNC();
    if (turn > 0)
        post_chunk(r, c, turn - 1, chunks, lanes, LANE);
}

/* Adds the posts of all rows, row by row. While one thread adds, others fetch the next posts. */
DEVICE void add_posts(const takt_cuda_reduce *r, uint64_t chunks, float *x SELF_PARAMETER)
{
    enum { EACH = POSTS / TAKERS };
    const uint64_t batches = (chunks + POSTS - 1) / POSTS, all = batches * r->count;
    float total = 0.0f;
    ROLL for (uint64_t b = 0; b <= all; b++)
    {
        if (LANE >= TAKERS && b < all) {
            const uint64_t at = b % batches * POSTS, left = chunks - at;
            uint32_t *from = r->tickets + 2 * (b / batches * chunks + at);
            float *to = x + b % 2 * POSTS;
            TAKE_POSTS(EACH, to, from, LANE - TAKERS, TAKERS,
                       left < POSTS ? (uint32_t)left : POSTS);
        }
        if (LANE == 0 && b > 0) {
            const uint64_t done = b - 1, at = done % batches * POSTS, left = chunks - at;
            total = BY_OP(joined_quads, r->op, total, x + done % 2 * POSTS,
                          left < POSTS ? (uint32_t)left : POSTS, at == 0);
            if (left <= POSTS)
                ((float *)r->dst)[done / batches] = total;
        }
        SYNC();
    }
}

#endif
