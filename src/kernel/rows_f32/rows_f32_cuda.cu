/* rows_f32_cuda.cu - softmax and norms on a device.
 *
 * Short rows lie in the registers of sixteen threads, longer ones in the shared memory of a block,
 * and the longest are read again for every pass. Sums have sixteen lanes to a chunk of 4096
 * (reduce/reduce.h): sixteen threads take a chunk, and chunks are added in order.
 */
#include "kernel/rows/rows.h"
#include "kernel/rows_f32/cuda_block.h"

typedef struct team {
    uint32_t size, me;
    uint64_t limit; /* elements of the row; 0 for a team without one */
    float *part;    /* shared, one float a thread of the block */
    uint32_t at;    /* of the team's first thread */
} team;

DEVICE float team_max(const team *t, float most SELF_PARAMETER)
{
    float *part = t->part + t->at;
    part[t->me] = most;
    for (uint32_t half = t->size / 2; half > 0; half /= 2) {
        SYNC();
        if (t->me < half && part[t->me + half] > part[t->me])
            part[t->me] = part[t->me + half];
    }
    SYNC();
    const float all = part[0];
    SYNC();
    return all;
}

/* The sum over a row of n elements, the same for all teams. */
DEVICE float team_sum(const team *t, summand what, const float *x, uint64_t n,
                      float mean SELF_PARAMETER)
{
    const uint32_t lane = t->me % WIDE, mine = t->me / WIDE, together = t->size / WIDE;
    const uint64_t chunks = (n + ROW_CHUNK - 1) / ROW_CHUNK;
    float total = 0;
    for (uint64_t first = 0; first < chunks; first += together) {
        const uint64_t begin = (first + mine) * ROW_CHUNK;
        const uint64_t end = t->limit < begin + ROW_CHUNK ? t->limit : begin + ROW_CHUNK;
        float sum = 0;
        uint64_t i = begin + lane;
        for (; i + (AT_ONCE - 1) * WIDE < end; i += AT_ONCE * WIDE) { /* loads first: none waits */
            float y[AT_ONCE];
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                y[k] = x[i + k * WIDE];
            UNROLL
            for (uint32_t k = 0; k < AT_ONCE; k++)
                sum = join(what, sum, y[k], mean);
        }
        for (; i < end; i += WIDE)
            sum = join(what, sum, x[i], mean);
        t->part[t->at + t->me] = sum;
        SYNC();
        float whole = 0;
        if (lane == 0)
            whole = fold(t->part + t->at + t->me);
        SYNC();
        if (lane == 0)
            t->part[t->at + mine] = whole;
        SYNC();
        for (uint32_t k = 0; k < together && first + k < chunks; k++)
            total = first + k == 0 ? t->part[t->at] : total + t->part[t->at + k];
        SYNC();
    }
    return total;
}

DEVICE float largest(const team *t, const float *x SELF_PARAMETER)
{
    float most = -INFINITY;
    for (uint64_t i = t->me; i < t->limit; i += t->size)
        most = x[i] > most ? x[i] : most;
    return team_max(t, most SELF);
}

DEVICE void softmax(const takt_cuda_rows *r, const team *t, float *d, const float *x SELF_PARAMETER)
{
    const float most = largest(t, x SELF);
    for (uint64_t i = t->me; i < t->limit; i += t->size)
        d[i] = exp_share_f32(x[i] - most);
    SYNC();
    const float scale = 1.0f / team_sum(t, PLAIN, d, r->n, 0 SELF);
    for (uint64_t i = t->me; i < t->limit; i += t->size)
        d[i] = d[i] * scale;
}

/* The exponentials are not stored: each is computed by the thread that adds it. */
DEVICE float sum_of_exponentials(const takt_cuda_rows *r, const team *t, const float *x,
                                 float most SELF_PARAMETER)
{
    const uint32_t lane = t->me % WIDE, mine = t->me / WIDE, together = t->size / WIDE;
    const uint64_t chunks = (r->n + ROW_CHUNK - 1) / ROW_CHUNK;
    float total = 0;
    for (uint64_t first = 0; first < chunks; first += together) {
        const uint64_t begin = (first + mine) * ROW_CHUNK;
        const uint64_t end = t->limit < begin + ROW_CHUNK ? t->limit : begin + ROW_CHUNK;
        float sum = 0;
        for (uint64_t i = begin + lane; i < end; i += WIDE)
            sum = sum + exp_share_f32(x[i] - most);
        t->part[t->at + t->me] = sum;
        SYNC();
        float whole = 0;
        if (lane == 0)
            whole = fold(t->part + t->at + t->me);
        SYNC();
        if (lane == 0)
            t->part[t->at + mine] = whole;
        SYNC();
        for (uint32_t k = 0; k < together && first + k < chunks; k++)
            total = first + k == 0 ? t->part[t->at] : total + t->part[t->at + k];
        SYNC();
    }
    return total;
}

DEVICE void log_softmax(const takt_cuda_rows *r, const team *t, float *d,
                        const float *x SELF_PARAMETER)
{
    const float most = largest(t, x SELF);
    const float log_sum = log_f32(sum_of_exponentials(r, t, x, most SELF));
    for (uint64_t i = t->me; i < t->limit; i += t->size)
        d[i] = (x[i] - most) - log_sum;
}

DEVICE void norm(const takt_cuda_rows *r, const team *t, float *d, const float *x SELF_PARAMETER)
{
    const bool centred = r->op == TAKT_ROWS_LAYER_NORM;
    const float n = (float)r->n;
    const float mean = centred ? team_sum(t, PLAIN, x, r->n, 0 SELF) / n : 0.0f;
    const float squares = team_sum(t, centred ? SQUARE_OF_DIFFERENCE : SQUARE, x, r->n, mean SELF);
    const float scale = 1.0f / sqrtf(squares / n + r->epsilon);
    for (uint64_t i = t->me; i < t->limit; i += t->size) {
        float y = centred ? x[i] - mean : x[i];
        y = y * scale;
        if (r->gamma)
            y = y * r->gamma[i];
        if (r->beta)
            y = y + r->beta[i];
        d[i] = y;
    }
}

/* A block to a row of any length, which is read from memory in every pass. */
KERNEL(takt_cuda_rows_f32, takt_cuda_rows, TAKT_CUDA_ROWS_THREADS)
{
    SHARED(float, part, THREADS);
    const uint64_t row = BLOCK_X;
    team t = {LANES, LANE, ARG.n, part, 0};
    float *d = ARG.dst + row * ARG.dst_stride;
    const float *x = ARG.src + row * ARG.src_stride;
    if (ARG.op == TAKT_ROWS_SOFTMAX)
        softmax(&ARG, &t, d, x SELF);
    else if (ARG.op == TAKT_ROWS_LOG_SOFTMAX)
        log_softmax(&ARG, &t, d, x SELF);
    else
        norm(&ARG, &t, d, x SELF);
}

/* ---- short rows: sixteen threads to one, in registers ---- */

#define EACH 16
#define NAMED(name) name##_16
#include "kernel/rows_f32/cuda_short.inc"

KERNEL(takt_cuda_rows_f32_256, takt_cuda_rows, TAKT_CUDA_ROWS_THREADS)
{
    SHARED(float, part, THREADS);
    short_rows_16(&ARG, part SELF);
}

/* ---- rows in the shared memory of a block ---- */

DEVICE bool is_by_quads(const float *p, uint32_t n)
{
    return n % 4 == 0 && ((uintptr_t)p & 15) == 0;
}

/* Brings the row to shared memory. */
DEVICE void bring(const held_row *r, const float *from SELF_PARAMETER)
{
    if (is_by_quads(from, r->n)) {
        const address to = address_of(r->x);
        for (uint32_t i = 4 * LANE; i < r->n; i += 4 * LANES)
            copy_async_if(true, to, 4 * i, from + i);
    } else {
        for (uint32_t i = LANE; i < r->n; i += LANES)
            copy_async_one(r->x + i, from + i);
    }
    copy_end();
    COPY_WAIT(0);
    SYNC();
}

/* Writes `expression(x, i)` of every element of a row, four at a time if possible; thread `me` of
 * `all`. */
#define WRITE_BY(me, all, to, expression)                                                          \
    if (is_by_quads(to, r->n))                                                                     \
        for (uint32_t i = 4 * (me); i < r->n; i += 4 * (all)) {                                    \
            float y[4];                                                                            \
            spread(y, *(const quad *)(r->x + i));                                                  \
            UNROLL                                                                                 \
            for (uint32_t j = 0; j < 4; j++)                                                       \
                y[j] = expression(y[j], i + j);                                                    \
            *(quad *)(to + i) = quad_of(y);                                                        \
        }                                                                                          \
    else                                                                                           \
        for (uint32_t i = (me); i < r->n; i += (all))                                              \
            to[i] = expression(r->x[i], i)
#define WRITE(to, expression) WRITE_BY(LANE, LANES, to, expression)

/* Turns a row into its exponentials; the largest element. */
DEVICE float block_exponentials(const held_row *r SELF_PARAMETER)
{
    float most = -INFINITY;
    const uint32_t whole = r->n / 4 * 4;
    for (uint32_t i = 4 * LANE; i < whole; i += 4 * LANES) {
        const quad q = *(const quad *)(r->x + i);
        most = larger(larger(larger(larger(most, q.x), q.y), q.z), q.w);
    }
    for (uint32_t i = whole + LANE; i < r->n; i += LANES)
        most = larger(most, r->x[i]);
    most = block_max(r, most SELF);
    for (uint32_t i = 4 * LANE; i < whole; i += 4 * LANES) {
        quad q = *(const quad *)(r->x + i);
        q.x = exp_share_f32(q.x - most);
        q.y = exp_share_f32(q.y - most);
        q.z = exp_share_f32(q.z - most);
        q.w = exp_share_f32(q.w - most);
        *(quad *)(r->x + i) = q;
    }
    for (uint32_t i = whole + LANE; i < r->n; i += LANES)
        r->x[i] = exp_share_f32(r->x[i] - most);
    SYNC();
    return most;
}

DEVICE void block_softmax(const held_row *r, float *d SELF_PARAMETER)
{
    (void)block_exponentials(r SELF);
    const float scale = 1.0f / block_sum(r, PLAIN, 0 SELF);
#define SCALED(x, i) ((x) * scale)
    WRITE(d, SCALED);
#undef SCALED
}

/* `x` is the row in memory; its copy in shared memory is replaced by the exponentials. */
DEVICE void block_log_softmax(const held_row *r, float *d, const float *x SELF_PARAMETER)
{
    const float most = block_exponentials(r SELF);
    const float log_sum = log_f32(block_sum(r, PLAIN, 0 SELF));
    for (uint32_t i = LANE; i < r->n; i += LANES)
        d[i] = (x[i] - most) - log_sum;
}

DEVICE float normed(const takt_cuda_rows *a, float x, float mean, float scale, uint32_t i)
{
    float y = a->op == TAKT_ROWS_LAYER_NORM ? x - mean : x;
    y = y * scale;
    if (a->gamma)
        y = y * a->gamma[i];
    return a->beta ? y + a->beta[i] : y;
}

DEVICE void block_norm(const takt_cuda_rows *a, const held_row *r, float *d SELF_PARAMETER)
{
    const bool centred = a->op == TAKT_ROWS_LAYER_NORM;
    const float n = (float)a->n;
    const float mean = centred ? block_sum(r, PLAIN, 0 SELF) / n : 0.0f;
    const float squares = block_sum(r, centred ? SQUARE_OF_DIFFERENCE : SQUARE, mean SELF);
    const float scale = 1.0f / sqrtf(squares / n + a->epsilon);
#define NORMED(x, i) normed(a, x, mean, scale, i)
    WRITE(d, NORMED);
#undef NORMED
}

KERNEL(takt_cuda_rows_f32_block, takt_cuda_rows, 1024)
{
    DYNAMIC(float, shared);
    const uint64_t index = BLOCK_X;
    const held_row r = {shared + LANES, (uint32_t)ARG.n, shared};
    const float *x = ARG.src + index * ARG.src_stride;
    float *d = ARG.dst + index * ARG.dst_stride;
    bring(&r, x SELF);
    if (ARG.op == TAKT_ROWS_SOFTMAX)
        block_softmax(&r, d SELF);
    else if (ARG.op == TAKT_ROWS_LOG_SOFTMAX)
        block_log_softmax(&r, d, x SELF);
    else
        block_norm(&ARG, &r, d SELF);
}

/* ---- many rows of at most 1024: sixteen threads to one, which lies in shared memory ----
 *
 * In registers a row is 64 elements a thread, in straight code, and two blocks fit a
 * multiprocessor: 2^18 rows took 1.18 ms. Loops over shared memory are short, leave room for 50
 * rows, and take 0.53 ms.
 */

DEVICE float near_sum(const held_row *r, summand what, float mean SELF_PARAMETER)
{
    const uint32_t lane = LANE % WIDE;
    float sum = 0;
    uint32_t i = lane;
    ROLL for (; i + (AT_ONCE - 1) * WIDE < r->n; i += AT_ONCE * WIDE)
    {
        float y[AT_ONCE];
        UNROLL
        for (uint32_t k = 0; k < AT_ONCE; k++)
            y[k] = r->x[i + k * WIDE];
        UNROLL
        for (uint32_t k = 0; k < AT_ONCE; k++)
            sum = join(what, sum, y[k], mean);
    }
    ROLL for (; i < r->n; i += WIDE) sum = join(what, sum, r->x[i], mean);
    SYNC();
    r->part[lane] = sum;
    SYNC();
    return fold(r->part);
}

DEVICE void near_softmax(const held_row *r, float *d, bool is_log SELF_PARAMETER)
{
    const uint32_t lane = LANE % WIDE;
    float most = -INFINITY;
    for (uint32_t i = lane; i < r->n; i += WIDE)
        most = r->x[i] > most ? r->x[i] : most;
    r->part[lane] = most;
    SYNC();
    UNROLL
    for (uint32_t k = 0; k < WIDE; k++)
        most = r->part[k] > most ? r->part[k] : most;
    for (uint32_t i = lane; i < r->n; i += WIDE)
        r->x[i] = is_log ? r->x[i] - most : exp_share_f32(r->x[i] - most);
    const float sum = is_log ? near_sum(r, EXPONENTIAL, 0 SELF) : near_sum(r, PLAIN, 0 SELF);
    const float scale = 1.0f / sum, log_sum = is_log ? log_f32(sum) : 0.0f;
#define SCALED(x, i) (is_log ? (x) - log_sum : (x) * scale)
    WRITE_BY(lane, WIDE, d, SCALED);
#undef SCALED
}

DEVICE void near_norm(const takt_cuda_rows *a, const held_row *r, float *d SELF_PARAMETER)
{
    const bool centred = a->op == TAKT_ROWS_LAYER_NORM;
    const float n = (float)a->n;
    const float mean = centred ? near_sum(r, PLAIN, 0 SELF) / n : 0.0f;
    const float squares = centred ? near_sum(r, SQUARE_OF_DIFFERENCE, mean SELF)
                                  : near_sum(r, SQUARE, 0 SELF);
    const float scale = 1.0f / sqrtf(squares / n + a->epsilon);
    const uint32_t lane = LANE % WIDE;
#define NORMED(x, i) normed(a, x, mean, scale, i)
    WRITE_BY(lane, WIDE, d, NORMED);
#undef NORMED
}

KERNEL(takt_cuda_rows_f32_1024, takt_cuda_rows, 64)
{
    DYNAMIC(float, shared);
    const uint32_t lane = LANE % WIDE, mine = LANE / WIDE;
    const uint64_t row = (uint64_t)BLOCK_X * (LANES / WIDE) + mine;
    const bool is_there = row < ARG.rows;
    const held_row r = {shared + LANES + mine * TAKT_CUDA_ROWS_LINE((uint32_t)ARG.n),
                        is_there ? (uint32_t)ARG.n : 0, shared + mine * WIDE};
    const float *from = ARG.src + (is_there ? row : 0) * ARG.src_stride;
    float *d = ARG.dst + (is_there ? row : 0) * ARG.dst_stride;
    if (is_by_quads(from, r.n))
        for (uint32_t i = 4 * lane; i < r.n; i += 4 * WIDE)
            copy_async(r.x + i, from + i);
    else
        for (uint32_t i = lane; i < r.n; i += WIDE)
            copy_async_one(r.x + i, from + i);
    copy_end();
    COPY_WAIT(0);
    SYNC();
    if (ARG.op == TAKT_ROWS_SOFTMAX || ARG.op == TAKT_ROWS_LOG_SOFTMAX)
        near_softmax(&r, d, ARG.op == TAKT_ROWS_LOG_SOFTMAX SELF);
    else
        near_norm(&ARG, &r, d SELF);
}
