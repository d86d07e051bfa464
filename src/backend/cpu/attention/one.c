/* one.c - attention of one query: k and v are read where they lie, as far as they are there.
 *
 * A task takes heads of k and v. All query heads that share one pass over it together, or, where
 * threads outnumber the heads of k and v, parts of them: their scores are the product with the
 * keys, column-major as they lie; the result the product with the values. Nothing is packed, and
 * nothing beyond a sequence's length is read.
 */
#include <string.h>

#include "backend/cpu/attention/attention.h"

/* Heads [head, end) of those that share a pair. */
static void run_pair(const takt_step *s, const takt_task *t, size_t pair, size_t head, size_t end)
{
    const takt_attention *f = s->data;
    const size_t first = pair % f->shared * f->group + head, count = end - head;
    const size_t stride = takt_attention_aligned(f->keys);
    const takt_attention_pair p = takt_attention_pair_of(s, t, pair);
    takt_attention_head h = takt_attention_head_of(s, t, pair / f->shared, first);
    if (p.keys == 0) {
        memset(h.out, 0, count * f->value_dim * sizeof *h.out);
        return;
    }
    h.keys = p.keys;
    h.scores = t->scratch_own;
    const takt_direct_f32 scores = {.m = count,
                                    .n = p.keys,
                                    .k = f->dim,
                                    .a = h.q,
                                    .a_row = f->dim,
                                    .b = p.k,
                                    .b_row = 1,
                                    .b_col = p.k_row,
                                    .c = h.scores,
                                    .ldc = stride,
                                    .poll = t->poll};
    f->direct(&scores);
    for (size_t i = 0; i < count; i++) {
        takt_attention_head one = takt_attention_head_of(s, t, pair / f->shared, first + i);
        one.keys = p.keys;
        one.scores = h.scores + i * stride;
        takt_attention_weigh(&one, 0, 1, stride);
    }
    const takt_direct_f32 values = {.m = count,
                                    .n = f->value_dim,
                                    .k = p.keys,
                                    .a = h.scores,
                                    .a_row = stride,
                                    .b = p.v,
                                    .b_row = p.v_row,
                                    .b_col = 1,
                                    .c = h.out,
                                    .ldc = f->value_dim,
                                    .poll = t->poll};
    f->direct(&values);
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
