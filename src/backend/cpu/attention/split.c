/* split.c - attention of one query whose keys are shared by tasks.
 *
 * Heads of k and v are few, and after many tokens each of them is long: tasks take parts of the
 * keys. First come scores. A task computes those of its keys for all query heads that share them,
 * so keys are read once; the task that completes the scores of a pair turns them into weights. Then
 * come values. A task adds up those of whole chunks, and the one that completes a pair adds the
 * sums of its chunks in order.
 *
 * The bits depend neither on the cuts nor on which task was last: a score is a sum by itself, and
 * every product adds sums of chunks of TAKT_GEMM_CHUNK in order (kernel/gemm_f32/gemm_f32.h).
 */
#include <stdatomic.h>
#include <string.h>

#include "backend/cpu/attention/attention.h"
#include "base/size.h"

/* Keys whose scores stay together: whole tiles of the product. Fewer keys than LEAST are not worth
 * another round of tasks. */
enum { CHUNK = TAKT_GEMM_CHUNK, KEYS = 32, LEAST = 2 * CHUNK };

/* What of a pair is done; one in each cache line. */
typedef struct progress {
    _Alignas(64) _Atomic size_t scores, values;
} progress;

typedef struct call {
    const takt_step *s;
    const takt_task *t;
    const takt_attention *f;
} call;

/* A pair and the units of it that a task does. */
typedef struct piece {
    takt_attention_shared heads;
    size_t pair, first, end, all;
} piece;

typedef size_t count_fn(const takt_attention *f, size_t keys);
typedef void piece_fn(const call *c, const piece *w);

static size_t chunks_of(size_t keys)
{
    return (keys + CHUNK - 1) / CHUNK;
}

static size_t count_scores(const takt_attention *f, size_t keys)
{
    (void)f;
    return (keys + KEYS - 1) / KEYS;
}

/* One query head by one chunk. */
static size_t count_values(const takt_attention *f, size_t keys)
{
    return chunks_of(keys) * f->group;
}

static progress *progress_of(const call *c, size_t pair)
{
    return (progress *)c->t->scratch + pair;
}

static takt_attention_shared heads_of(const call *c, size_t pair)
{
    const takt_attention *f = c->f;
    const size_t head = pair * f->group, stride = takt_attention_aligned(f->keys);
    const takt_attention_head h =
        takt_attention_head_of(c->s, c->t, head / f->heads, head % f->heads);
    float *scores = (float *)(void *)((char *)c->t->scratch + f->scores_at);
    return (takt_attention_shared){.f = f,
                                   .p = takt_attention_pair_of(c->s, c->t, pair),
                                   .count = f->group,
                                   .stride = stride,
                                   .q = h.q,
                                   .scores = scores + head * stride,
                                   .out = h.out,
                                   .wide = c->t->scratch_own,
                                   .poll = c->t->poll};
}

static size_t count_all(const call *c, count_fn *count)
{
    size_t all = 0;
    for (size_t b = 0; b < c->f->batch; b++)
        all += c->f->shared * count(c->f, takt_attention_keys(c->s, c->t, b));
    return all;
}

/* Does the task's share of the units of all pairs. */
static void take_share(const call *c, size_t tasks, count_fn *count, piece_fn *run)
{
    const takt_attention *f = c->f;
    size_t first, end, at = 0;
    takt_cpu_share(count_all(c, count), 1, c->t->index, tasks, &first, &end);
    for (size_t pair = 0; pair < f->batch * f->shared && at < end; pair++) {
        const size_t all = count(f, takt_attention_keys(c->s, c->t, pair / f->shared));
        const size_t from = first > at ? first - at : 0, to = end - at < all ? end - at : all;
        at += all;
        if (from >= to)
            continue;
        const piece w = {heads_of(c, pair), pair, from, to, all};
        run(c, &w);
    }
}

/* True for the piece that is the last of its pair. A run that ends early completes none. */
static bool completes(const call *c, const piece *w, _Atomic size_t *done)
{
    const size_t own = w->end - w->first;
    return !takt_poll_stops(c->t->poll) &&
           atomic_fetch_add_explicit(done, own, memory_order_acq_rel) + own == w->all;
}

static void score_piece(const call *c, const piece *w)
{
    const size_t keys = w->heads.p.keys, end = w->end * KEYS;
    takt_attention_score(&w->heads, w->first * KEYS, end < keys ? end : keys);
    if (completes(c, w, &progress_of(c, w->pair)->scores))
        takt_attention_weigh_shared(c->s, c->t, &w->heads, w->pair * c->f->group);
}

/* Sums of chunk `chunk` of a pair; those of a single one are the result. */
static float *sums_of(const call *c, const piece *w, size_t chunk)
{
    const takt_attention *f = c->f;
    const size_t row = f->group * f->value_dim;
    float *sums = (float *)(void *)((char *)c->t->scratch + f->sums_at);
    if (chunks_of(w->heads.p.keys) == 1)
        return w->heads.out;
    return sums + (w->pair * chunks_of(f->keys) + chunk) * row;
}

static void add_chunks(const call *c, const piece *w)
{
    const size_t row = c->f->group * c->f->value_dim, chunks = chunks_of(w->heads.p.keys);
    float *out = w->heads.out;
    if (chunks > 1)
        memcpy(out, sums_of(c, w, 0), row * sizeof *out);
    for (size_t k = 1; k < chunks; k++) {
        const float *sums = sums_of(c, w, k);
        for (size_t i = 0; i < row; i++)
            out[i] += sums[i];
    }
}

static void sum_piece(const call *c, const piece *w)
{
    const takt_attention *f = c->f;
    for (size_t i = w->first, n; i < w->end && !takt_poll_stops(c->t->poll); i += n) {
        const size_t head = i % f->group, first = i / f->group * CHUNK;
        const size_t left = w->heads.p.keys - first;
        takt_attention_shared o = w->heads;
        n = f->group - head < w->end - i ? f->group - head : w->end - i;
        o.count = n;
        o.scores += head * o.stride;
        takt_attention_sum(&o, first, left < CHUNK ? left : CHUNK,
                           sums_of(c, w, i / f->group) + head * f->value_dim);
    }
    if (completes(c, w, &progress_of(c, w->pair)->values))
        add_chunks(c, w);
}

/* Nothing is done yet; heads without keys have no task. */
static void before(const takt_step *s, const takt_task *t)
{
    const takt_attention *f = s->data;
    const call c = {s, t, f};
    for (size_t pair = 0; pair < f->batch * f->shared; pair++) {
        const takt_attention_shared o = heads_of(&c, pair);
        atomic_init(&progress_of(&c, pair)->scores, 0);
        atomic_init(&progress_of(&c, pair)->values, 0);
        if (o.p.keys == 0)
            memset(o.out, 0, f->group * f->value_dim * sizeof *o.out);
    }
}

static void score(const takt_step *s, const takt_task *t)
{
    const call c = {s, t, s->data};
    take_share(&c, s->prepare_count, count_scores, score_piece);
}

static void sum(const takt_step *s, const takt_task *t)
{
    const call c = {s, t, s->data};
    take_share(&c, s->task_count, count_values, sum_piece);
}

bool takt_attention_is_uneven(const takt_attention *f, size_t tasks)
{
    const size_t pairs = f->batch * f->shared, each = (pairs + tasks - 1) / tasks;
    return f->keys >= LEAST && tasks > 1 && 8 * (each * tasks - pairs) > each * tasks;
}

static bool set_scratch(takt_planner *p, takt_attention *f)
{
    const size_t pairs = f->batch * f->shared, heads = f->batch * f->heads;
    size_t scores, sums, bytes;
    f->wide_at = 0;
    f->scores_at = pairs * sizeof(progress);
    if (!takt_size_mul(heads, takt_attention_aligned(f->keys) * sizeof(float), &scores) ||
        !takt_size_mul(heads, chunks_of(f->keys) * f->value_dim * sizeof(float), &sums) ||
        !takt_size_add(f->scores_at, scores, &f->sums_at) ||
        !takt_size_add(f->sums_at, sums, &bytes))
        return false;
    p->step->scratch_bytes = bytes;
    p->step->scratch_each = takt_attention_wide(f) * sizeof(float);
    return takt_planner_has_room(p);
}

bool takt_attention_split(takt_planner *p, takt_attention *f, size_t tasks)
{
    takt_step *s = p->step;
    s->task_count = s->prepare_count = tasks;
    if (!set_scratch(p, f)) {
        s->task_count = s->prepare_count = 0;
        s->scratch_bytes = s->scratch_each = 0;
        return false;
    }
    s->before = before;
    s->prepare = score;
    s->run = sum;
    return true;
}
