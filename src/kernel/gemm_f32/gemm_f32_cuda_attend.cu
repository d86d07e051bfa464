/* gemm_f32_cuda_attend.cu - long attention on a device: a block has 128 queries of a head.
 *
 * It makes all their scores, turns them into weights, and multiplies these by v. The contract wants
 * the exact maximum and the ordered sum of a query before the first weight, and 128 queries do not
 * fit shared memory, so scores go through memory; they are on their way while the other block of
 * the multiprocessor multiplies.
 *
 * Scores are transposed: a line of queries for each key. So both products read lines for each k,
 * which are copied as they lie; a thread takes one query from key to key, with the sixteen lanes of
 * its sum in registers; and the maximum is known when the last score is: multiplying by a positive
 * scale keeps the order. Neighbouring queries of a line are exchanged, as cuda_place.h says.
 */
#include "kernel/cuda/args_attend.h"
#include "kernel/cuda/lanes.h"
#include "kernel/gemm_f32/cuda_panel.h"

enum { STEP = TAKT_CUDA_ATTEND_STEP, STAGE = STEP * SIDE, STAGES = 4 };

/* Shared memory of a block. */
typedef struct room {
    float *large; /* 128 x 128: the queries, then scores that arrive, then sums of chunks */
    float *stage; /* STAGES of STEP lines, or two of as many lines of both factors */
    float *part;  /* a float per query */
    address to_large, to_stage; /* of the thread's quad */
} room;

/* A panel of a head. */
typedef struct panel {
    const float *q, *k, *v; /* q: of its first query */
    float *out, *scores;
    uint32_t rows; /* queries */
} panel;

/* ---- scores: keys x queries ---- */

/* Lines of k on their way to shared memory, STEP at a time: all of a head for 128 keys, then for
 * the next 128. */
typedef struct stream {
    const float *from;
    uint32_t to, left, turn; /* stages; turn: until the next keys */
} stream;

DEVICE void bring_keys(const takt_cuda_attend_long *g, const room *m, stream *s)
{
    if (s->left > 0) {
        UNROLL
        for (uint32_t i = 0; i < STEP; i += LINES)
            copy_async_if(true, m->to_stage, s->to + i * SIDE * 4, s->from + (uint64_t)i * g->keys);
        s->left--;
        s->to = s->to == (STAGES - 1) * STAGE * 4 ? 0 : s->to + STAGE * 4;
        s->from += (uint64_t)STEP * g->keys;
        if (--s->turn == 0) {
            s->turn = g->dim / STEP;
            s->from += SIDE;
            s->from -= (uint64_t)g->dim * g->keys;
        }
    }
    copy_end();
}

DEVICE void bring_queries(const takt_cuda_attend_long *g, const panel *p, const room *m,
                          const seat *t)
{
    const float *from = p->q + (uint64_t)t->line * g->queries + t->quad;
    ROLL for (uint32_t i = 0; i < g->dim; i += LINES, from += (uint64_t)LINES * g->queries)
        copy_async_if(t->quad < p->rows, m->to_large, i * SIDE * 4, from);
}

/* Stores a tile of scores, and joins the largest of each column. */
DEVICE void store_scores(const float *acc, float *to, float *most)
{
    UNROLL
    for (uint32_t i = 0; i < TALL; i++) {
        UNROLL
        for (uint32_t j = 0; j < BROAD; j++)
            most[j] = fmaxf(most[j], acc[i * BROAD + j]); /* NaN never wins */
        UNROLL
        for (uint32_t j = 0; j < BROAD; j += 4)
            *(quad *)(to + row_of(i) * SIDE + col_of(j)) = exchanged(acc + i * BROAD + j);
    }
}

/* Eight threads have rows of a column: their maxima go to as many lines of m->stage. */
DEVICE void make_scores(const takt_cuda_attend_long *g, const panel *p, const room *m,
                        const seat *t SELF_PARAMETER)
{
    const uint32_t each = g->dim / STEP, tiles = g->keys / SIDE;
    float acc[SUMS], most[BROAD], *to = p->scores + t->row * SIDE + t->col;
    stream s = {p->k + (uint64_t)t->line * g->keys + t->quad, 0, each * tiles, each};
    uint32_t stage = 0;
    bring_queries(g, p, m, t);
    UNROLL
    for (uint32_t i = 0; i + 1 < STAGES; i++)
        bring_keys(g, m, &s);
    UNROLL
    for (uint32_t j = 0; j < BROAD; j++)
        most[j] = -INFINITY;
    ROLL for (uint32_t tile = 0; tile < tiles; tile++, to += SIDE * SIDE)
    {
        const float *queries = m->large + t->col;
        clear(acc);
        ROLL for (uint32_t i = 0; i < each; i++, stage++, queries += STAGE)
        {
            COPY_WAIT(STAGES - 2);
            SYNC();
            bring_keys(g, m, &s);
            add_lines(acc, m->stage + stage % STAGES * STAGE + t->row, queries, STEP, false);
        }
        store_scores(acc, to, most);
    }
    SYNC();
    UNROLL
    for (uint32_t j = 0; j < BROAD; j++)
        m->stage[(t->row / 64 * 4 + t->row / 4 % 4) * SIDE + ((t->col + col_of(j)) ^ 1)] = most[j];
    SYNC();
}

/* ---- weights ---- */

enum { BATCH = 32, BATCHES = SIDE / BATCH }; /* keys that are on their way together */

DEVICE void bring_batch(const room *m, const float *from, uint32_t batch)
{
    UNROLL
    for (uint32_t i = 0; i < BATCH; i++)
        copy_async_one_to(m->to_large, (batch % BATCHES * BATCH + i) * SIDE * 4, from + i * SIDE);
}

/* Sixteen keys. */
DEVICE void weigh_some(const float *x, float *to, float scale, float most, float *lanes)
{
    UNROLL
    for (uint32_t i = 0; i < WIDE; i++) {
        const float e = exp_share_f32(x[i * SIDE] * scale - most);
        lanes[i] = lanes[i] + e;
        to[i * SIDE] = e;
    }
}

/* Scores of a thread's query become exponentials, and the inverse of their sum goes to m->part. */
DEVICE void weigh(const takt_cuda_attend_long *g, const panel *p, room *m,
                  const seat *t SELF_PARAMETER)
{
    const address quads = m->to_large;
    const uint32_t batches = g->keys / BATCH;
    const float *from = p->scores + t->lane;
    float *to = p->scores + t->lane, most = -INFINITY, lanes[WIDE];
    UNROLL
    for (uint32_t i = 0; i < 8; i++)
        most = fmaxf(most, m->stage[i * SIDE + t->lane]);
    most = most * g->scale;
    UNROLL
    for (uint32_t i = 0; i < WIDE; i++)
        lanes[i] = 0.0f;
    m->to_large = address_of(m->large + t->lane);
    ROLL for (uint32_t b = 0; b + 1 < BATCHES; b++, from += BATCH * SIDE)
    {
        bring_batch(m, from, b);
        copy_end();
    }
    ROLL for (uint32_t b = 0; b < batches; b++, from += BATCH * SIDE)
    {
        COPY_WAIT(BATCHES - 2); /* a thread reads only what it copied */
        if (b + BATCHES - 1 < batches)
            bring_batch(m, from, b + BATCHES - 1);
        copy_end();
        const float *x = m->large + b % BATCHES * (BATCH * SIDE) + t->lane;
        ROLL for (uint32_t i = 0; i < BATCH; i += WIDE, to += WIDE * SIDE)
            weigh_some(x + i * SIDE, to, g->scale, most, lanes);
    }
    UNROLL
    for (uint32_t i = 0; i < 8; i++)
        lanes[i] = lanes[i] + lanes[i + 8];
    UNROLL
    for (uint32_t i = 0; i < 4; i++)
        lanes[i] = lanes[i] + lanes[i + 4];
    m->part[t->lane] = 1.0f / ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3]));
    m->to_large = quads;
    SYNC();
}

/* ---- their product with v ---- */

/* A stage is STEP lines of weights, then as many of v; there are two. */
typedef struct weighted {
    const float *w, *v;
    int64_t v_line;
    quad held[STEP / LINES];
    bool is_there; /* the thread's columns of v */
} weighted;

DEVICE void bring_values(const room *m, weighted *f, uint32_t stage)
{
    UNROLL
    for (uint32_t i = 0; i < STEP; i += LINES) {
        f->held[i / LINES] = *(const quad *)(f->w + i * SIDE);
        copy_async_if(f->is_there, m->to_stage, (stage * 2 * STAGE + STAGE + i * SIDE) * 4,
                      f->v + i * f->v_line);
    }
    copy_end();
    f->w += STAGE;
    f->v += STEP * f->v_line;
}

DEVICE void put_weights(const room *m, const weighted *f, const seat *t, uint32_t stage)
{
    float *to = m->stage + stage * 2 * STAGE + t->line * SIDE + t->quad;
    const quad scale = *(const quad *)(m->part + t->quad);
    UNROLL
    for (uint32_t i = 0; i < STEP; i += LINES) {
        quad q = f->held[i / LINES];
        q.x = q.x * scale.x;
        q.y = q.y * scale.y;
        q.z = q.z * scale.z;
        q.w = q.w * scale.w;
        *(quad *)(to + i * SIDE) = q;
    }
}

/* The end of a chunk of k: its sums join those of the chunks before it. */
DEVICE void end_chunk(float *acc, quad *total, bool begins, bool ends)
{
    UNROLL
    for (uint32_t i = 0; i < SUMS / 4; i++) {
        float *const sum = acc + 4 * i;
        if (!begins)
            add_exchanged(sum, total[i * PANEL_THREADS]);
        if (!ends) {
            total[i * PANEL_THREADS] = exchanged(sum);
            sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
        }
    }
}

/* All sums are in `total` now: a loop over rows is less code. */
DEVICE void store_values(const takt_cuda_attend_long *g, const panel *p, const quad *total,
                         const seat *t)
{
    const int64_t line = (int64_t)g->heads * g->size;
    ROLL for (uint32_t i = 0; i < TALL; i++)
    {
        const uint32_t row = t->row + row_of(i);
        UNROLL
        for (uint32_t j = 0; j < BROAD; j += 4) {
            float x[4];
            const uint32_t col = t->col + col_of(j);
            read_exchanged(x, total[(i * BROAD + j) / 4 * PANEL_THREADS]);
            if (row < p->rows && col < g->size)
                *quad_at(p->out + row * line + col) = quad_of(x);
        }
    }
}

DEVICE void multiply_values(const takt_cuda_attend_long *g, const panel *p, const room *m,
                            const seat *t SELF_PARAMETER)
{
    quad *const total = (quad *)m->large + t->lane;
    float acc[SUMS];
    weighted f;
    f.v_line = (int64_t)(g->heads / g->group) * g->size;
    f.w = p->scores + t->line * SIDE + t->quad;
    f.is_there = t->quad < g->size;
    f.v = p->v + (int64_t)t->line * f.v_line + (f.is_there ? t->quad : 0);
    clear(acc);
    bring_values(m, &f, 0);
    put_weights(m, &f, t, 0);
    COPY_WAIT(0);
    SYNC();
    ROLL for (uint32_t k = STEP, stage = 0; k <= g->keys; k += STEP, stage ^= 1)
    {
        const bool more = k < g->keys;
        const float *a = m->stage + stage * 2 * STAGE;
        if (more)
            bring_values(m, &f, stage ^ 1);
        add_lines(acc, a + t->row, a + STAGE + t->col, STEP, true);
        if (more)
            put_weights(m, &f, t, stage ^ 1);
        COPY_WAIT(0);
        SYNC();
        if (k % CHUNK == 0 || !more)
            end_chunk(acc, total, k <= CHUNK, !more);
    }
    UNROLL
    for (uint32_t i = 0; i < SUMS / 4; i++)
        total[i * PANEL_THREADS] = exchanged(acc + 4 * i);
    store_values(g, p, total, t);
}

DEVICE panel panel_of(const takt_cuda_attend_long *g, uint32_t index, uint32_t block)
{
    const uint32_t head = index / g->each, first = index % g->each * SIDE;
    const uint32_t batch = head / g->heads, own = head % g->heads, shared = head / g->group;
    const int64_t kv = (int64_t)(g->heads / g->group) * g->size;
    panel p;
    p.q = g->q + (uint64_t)head * g->dim * g->queries + first;
    p.k = g->k + (uint64_t)shared * g->dim * g->keys;
    p.v = g->v + (int64_t)batch * g->keys * kv + (int64_t)(own / g->group) * g->size;
    p.out = g->out + (((uint64_t)batch * g->queries + first) * g->heads + own) * g->size;
    p.scores = g->scores + (uint64_t)block * SIDE * g->keys;
    p.rows = g->queries - first < SIDE ? g->queries - first : SIDE;
    return p;
}

KERNEL(takt_cuda_attend_long_f32, takt_cuda_attend_long, 128, 2)
{
    DYNAMIC(float, shared);
    const seat t = seat_of(in_register(LANE));
    room m;
    m.large = shared;
    m.stage = shared + SIDE * SIDE;
    m.part = m.stage + TAKT_CUDA_ATTEND_LINES * SIDE;
    m.to_large = address_of(m.large + t.line * SIDE + t.quad);
    m.to_stage = address_of(m.stage + t.line * SIDE + t.quad);
    ROLL for (uint32_t index = BLOCK_X; index < ARG.panels; index += ARG.blocks)
    {
        const panel p = panel_of(&ARG, index, BLOCK_X);
        make_scores(&ARG, &p, &m, &t SELF);
        weigh(&ARG, &p, &m, &t SELF);
        multiply_values(&ARG, &p, &m, &t SELF);
        SYNC();
    }
}
