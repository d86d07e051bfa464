/* one.c - attention of one query: k and v are read in place, up to the sequence's length.
 *
 * A task takes heads of k and v. All query heads that share one pass over it together, or, where
 * threads outnumber the heads of k and v, parts of them: their scores are the product with the
 * keys, column-major as stored; the result is the product with the values. Nothing is packed, and
 * nothing beyond a sequence's length is read. Narrower rows are converted to floats a chunk of keys
 * at a time, which stays in L1 or L2; sums of chunks are added in order, as in any product.
 *
 * Where keys are many and heads cannot be shared evenly, tasks take parts of the keys instead
 * (backend/cpu/attention/split.c).
 */
#include <string.h>

#include "backend/cpu/attention/attention.h"

enum { CHUNK = TAKT_GEMM_CHUNK };

static bool is_wide(const takt_attention *f)
{
    return f->k_type != TAKT_F32 || f->v_type != TAKT_F32;
}

static size_t widest(const takt_attention *f)
{
    return f->dim > f->value_dim ? f->dim : f->value_dim;
}

size_t takt_attention_wide(const takt_attention *f)
{
    return is_wide(f) ? takt_attention_aligned((CHUNK + f->group) * widest(f)) : 0;
}

typedef takt_attention_shared heads;

/* Keys [first, first + count) as floats, `*row` apart. */
static const float *floats_of(const heads *o, const takt_attention_rows *r, size_t first,
                              size_t count, size_t *row)
{
    *row = r->row;
    if (r->type == TAKT_F32)
        return (const float *)r->from + first * r->row;
    takt_attention_widen(o->f, r, first, count, o->wide);
    *row = r->size;
    return o->wide;
}

/* Of `left` keys, those that are taken at once. */
static size_t step_of(takt_dtype type, size_t left)
{
    return type == TAKT_F32 || left < CHUNK ? left : CHUNK;
}

void takt_attention_score(const heads *o, size_t first, size_t end)
{
    const takt_attention *f = o->f;
    const takt_attention_rows keys = {o->p.k, o->p.k_row, f->dim, f->k_type};
    for (size_t n; first < end && !takt_poll_stops(o->poll); first += n) {
        takt_direct_f32 g = {.m = o->count,
                             .k = f->dim,
                             .a = o->q,
                             .a_row = f->dim,
                             .b_row = 1,
                             .c = o->scores + first,
                             .ldc = o->stride,
                             .poll = o->poll};
        g.n = n = step_of(f->k_type, end - first);
        g.b = floats_of(o, &keys, first, n, &g.b_col);
        f->direct(&g);
    }
}

void takt_attention_weigh_shared(const takt_step *s, const takt_task *t, const heads *o,
                                 size_t head)
{
    const takt_attention *f = o->f;
    for (size_t i = 0; i < o->count; i++) {
        takt_attention_head one =
            takt_attention_head_of(s, t, head / f->heads, head % f->heads + i);
        one.keys = o->p.keys;
        one.scores = o->scores + i * o->stride;
        takt_attention_weigh(&one, 0, 1, o->p.keys, o->stride);
    }
}

void takt_attention_sum(const heads *o, size_t first, size_t count, float *to)
{
    const takt_attention *f = o->f;
    const takt_attention_rows values = {o->p.v, o->p.v_row, f->value_dim, f->v_type};
    takt_direct_f32 g = {.m = o->count,
                         .n = f->value_dim,
                         .k = count,
                         .a = o->scores + first,
                         .a_row = o->stride,
                         .b_col = 1,
                         .c = to,
                         .ldc = f->value_dim,
                         .poll = o->poll};
    g.b = floats_of(o, &values, first, count, &g.b_row);
    f->direct(&g);
}

static void add_sums(const heads *o, const float *sums)
{
    const size_t count = o->count * o->f->value_dim;
    for (size_t i = 0; i < count; i++)
        o->out[i] += sums[i];
}

static void sum_values(const heads *o)
{
    const takt_attention *f = o->f;
    float *sums = o->wide + CHUNK * widest(f);
    for (size_t first = 0, n; first < o->p.keys && !takt_poll_stops(o->poll); first += n) {
        n = step_of(f->v_type, o->p.keys - first);
        takt_attention_sum(o, first, n, first == 0 ? o->out : sums);
        if (first > 0)
            add_sums(o, sums);
    }
}

/* Heads [head, end) of those that share a pair. */
static void run_pair(const takt_step *s, const takt_task *t, size_t pair, size_t head, size_t end)
{
    const takt_attention *f = s->data;
    const size_t first = pair % f->shared * f->group + head, b = pair / f->shared;
    const takt_attention_head h = takt_attention_head_of(s, t, b, first);
    const heads o = {.f = f,
                     .p = takt_attention_pair_of(s, t, pair),
                     .count = end - head,
                     .stride = takt_attention_aligned(f->keys),
                     .q = h.q,
                     .scores = t->scratch_own,
                     .out = h.out,
                     .wide = (float *)t->scratch_own + f->wide_at,
                     .poll = t->poll};
    if (o.p.keys == 0) {
        memset(h.out, 0, o.count * f->value_dim * sizeof *h.out);
        return;
    }
    takt_attention_score(&o, 0, o.p.keys);
    takt_attention_weigh_shared(s, t, &o, b * f->heads + first);
    sum_values(&o);
}

void takt_attention_run_one(const takt_step *s, const takt_task *t)
{
    const takt_attention *f = s->data;
    size_t first, end, head, head_end;
    takt_cpu_share(f->batch * f->shared * f->parts, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        takt_cpu_share(f->group, 1, i % f->parts, f->parts, &head, &head_end);
        run_pair(s, t, i / f->parts, head, head_end);
    }
}

bool takt_attention_reads_view(const takt_step *s, size_t in, const int64_t *stride)
{
    return (in == 1 || in == 2) && stride[0] >= 0 && stride[1] >= 0 &&
           (s->in[in].dim[2] == 1 || stride[2] == 1);
}
