/* rows_f32_cuda.cu - softmax and norms on a device.
 *
 * A row belongs to a team of threads: sixteen if it is short, else a block. Sums have sixteen lanes
 * to a chunk of 4096 (reduce/reduce.h): every sixteen threads of a team take a chunk, and all add
 * the chunks in order.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.h"
#include "kernel/rows/rows.h"

enum { THREADS = TAKT_CUDA_ROWS_THREADS, WIDE = 16, CHUNK = 4096, AT_ONCE = 16 };

typedef enum summand { PLAIN, SQUARE, SQUARE_OF_DIFFERENCE } summand;

typedef struct team {
    uint32_t size, me;
    uint64_t limit; /* elements of the row; 0 for a team without one */
    float *part;    /* shared, one float a thread of the block */
    uint32_t at;    /* of the team's first thread there */
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

DEVICE float join(summand what, float lane, float x, float mean)
{
    const float d = what == SQUARE_OF_DIFFERENCE ? x - mean : x;
    return what == PLAIN ? lane + x : fmaf(d, d, lane);
}

DEVICE float fold(const float *lane)
{
    float v[WIDE];
    UNROLL
    for (int k = 0; k < WIDE; k++)
        v[k] = lane[k];
    UNROLL
    for (int half = WIDE / 2; half > 0; half /= 2)
        UNROLL
    for (int k = 0; k < half; k++)
        v[k] = v[k] + v[k + half];
    return v[0];
}

/* The sum over a row of n elements, the same for all teams. */
DEVICE float team_sum(const team *t, summand what, const float *x, uint64_t n,
                      float mean SELF_PARAMETER)
{
    const uint32_t lane = t->me % WIDE, mine = t->me / WIDE, together = t->size / WIDE;
    const uint64_t chunks = (n + CHUNK - 1) / CHUNK;
    float total = 0;
    for (uint64_t first = 0; first < chunks; first += together) {
        const uint64_t begin = (first + mine) * CHUNK;
        const uint64_t end = t->limit < begin + CHUNK ? t->limit : begin + CHUNK;
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
        d[i] = exp_down_f32(x[i] - most);
    SYNC();
    const float scale = 1.0f / team_sum(t, PLAIN, d, r->n, 0 SELF);
    for (uint64_t i = t->me; i < t->limit; i += t->size)
        d[i] = d[i] * scale;
}

/* The exponentials have no place of their own: each is computed by the thread that adds it. */
DEVICE float sum_of_exponentials(const takt_cuda_rows *r, const team *t, const float *x,
                                 float most SELF_PARAMETER)
{
    const uint32_t lane = t->me % WIDE, mine = t->me / WIDE, together = t->size / WIDE;
    const uint64_t chunks = (r->n + CHUNK - 1) / CHUNK;
    float total = 0;
    for (uint64_t first = 0; first < chunks; first += together) {
        const uint64_t begin = (first + mine) * CHUNK;
        const uint64_t end = t->limit < begin + CHUNK ? t->limit : begin + CHUNK;
        float sum = 0;
        for (uint64_t i = begin + lane; i < end; i += WIDE)
            sum = sum + exp_down_f32(x[i] - most);
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

KERNEL(takt_cuda_rows_f32, takt_cuda_rows, TAKT_CUDA_ROWS_THREADS)
{
    SHARED(float, part, THREADS);
    const uint32_t me = LANE % ARG.team, at = LANE - me;
    const uint64_t row = (uint64_t)BLOCK_X * (THREADS / ARG.team) + at / ARG.team;
    const bool is_there = row < ARG.rows;
    team t = {ARG.team, me, is_there ? ARG.n : 0, part, at};
    float *d = ARG.dst + (is_there ? row : 0) * ARG.dst_stride;
    const float *x = ARG.src + (is_there ? row : 0) * ARG.src_stride;
    if (ARG.op == TAKT_ROWS_SOFTMAX)
        softmax(&ARG, &t, d, x SELF);
    else if (ARG.op == TAKT_ROWS_LOG_SOFTMAX)
        log_softmax(&ARG, &t, d, x SELF);
    else
        norm(&ARG, &t, d, x SELF);
}
