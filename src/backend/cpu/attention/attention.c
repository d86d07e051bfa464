/* attention.c - turns scores into weights, locates the operands of a head, and repeats rows that
 * absent keys may have changed. */
#include "backend/cpu/attention/attention.h"

#include <string.h>

#include "backend/cpu/shorter.h"
#include "plan/execute.h"

size_t takt_attention_keys(const takt_step *s, const takt_task *t, size_t b)
{
    const takt_attention *f = s->data;
    if (f->length < 0)
        return f->keys;
    const takt_view *v = &s->in[f->length];
    const void *data = takt_view_data(t, v);
    const int64_t given =
        v->dtype == TAKT_I64 ? ((const int64_t *)data)[b] : ((const int32_t *)data)[b];
    if (given >= 0 && given <= (int64_t)f->keys)
        return (size_t)given;
    takt_fault fault = {.index = TAKT_FAULT_NONE};
    takt_fault_note(&fault, b, given);
    if (t->fault != NULL)
        takt_fault_merge(t->fault, &fault);
    return 0;
}

takt_attention_head takt_attention_head_of(const takt_step *s, const takt_task *t, size_t b,
                                           size_t at)
{
    const takt_attention *f = s->data;
    const size_t row = b * f->queries * f->heads + at;
    const float *q = takt_view_data(t, &s->in[0]);
    takt_attention_head h = {.f = f, .q = q + row * f->dim, .keys = f->keys, .poll = t->poll};
    h.out = (float *)takt_view_data(t, &s->out[0]) + row * f->value_dim;
    if (f->mask >= 0)
        h.mask = (const float *)takt_view_data(t, &s->in[f->mask]) + b * f->mask_stride[0] +
                 at * f->mask_stride[1];
    return h;
}

takt_attention_pair takt_attention_pair_of(const takt_step *s, const takt_task *t, size_t pair)
{
    const takt_attention *f = s->data;
    const size_t b = pair / f->shared, at = pair % f->shared;
    const int64_t *k = takt_view_stride(t, &s->in[1]), *v = takt_view_stride(t, &s->in[2]);
    k = k != NULL ? k : s->in[1].stride;
    v = v != NULL ? v : s->in[2].stride;
    const char *keys = takt_view_data(t, &s->in[1]), *values = takt_view_data(t, &s->in[2]);
    const size_t k_at = b * (size_t)k[0] + at * takt_attention_elements(f->k_type, f->dim);
    const size_t v_at = b * (size_t)v[0] + at * takt_attention_elements(f->v_type, f->value_dim);
    return (takt_attention_pair){.k = keys + k_at * takt_attention_bytes(f->k_type),
                                 .v = values + v_at * takt_attention_bytes(f->v_type),
                                 .k_row = (size_t)k[1],
                                 .v_row = (size_t)v[1],
                                 .keys = takt_attention_keys(s, t, b)};
}

void takt_attention_widen(const takt_attention *f, const takt_attention_rows *r, size_t first,
                          size_t count, float *to)
{
    const size_t bytes = r->row * takt_attention_bytes(r->type);
    const takt_convert how = {.to = TAKT_F32, .from = r->type};
    const char *from = (const char *)r->from + first * bytes;
    for (size_t i = 0; i < count; i++, from += bytes, to += r->size) {
        const takt_ggml_f32 blocks = {TAKT_GGML_Q8_0, r->size / 32, from, to};
        if (r->type == TAKT_U8)
            f->decode(&blocks);
        else
            f->convert(&how, to, from, r->size);
    }
}

static void add_mask(const takt_attention_head *h, size_t query, size_t limit, float *row)
{
    const takt_attention *f = h->f;
    const float *mask = h->mask + query * f->mask_stride[2];
    const unsigned char is_scalar[2] = {0, f->mask_stride[3] == 0};
    f->add(row, (const void *[]){row, mask}, is_scalar, limit, NULL);
}

/* The masks of all scores, stored in the same order, or added one by one. */
static void add_masks(const takt_attention_head *h, size_t first, size_t count)
{
    const takt_attention *f = h->f;
    const float *mask = h->mask + first * f->mask_stride[2];
    if (f->mask_stride[3] == 1 && f->mask_stride[2] == h->keys)
        f->add(h->scores, (const void *[]){h->scores, mask}, (const unsigned char[]){0, 0},
               count * h->keys, NULL);
    else
        for (size_t i = 0; i < count; i++)
            add_mask(h, first + i, h->keys, h->scores + i * h->keys);
}

/* All keys, for the queries from `first` on. */
static void weigh_all(const takt_attention_head *h, size_t first, size_t count)
{
    const takt_attention *f = h->f;
    f->mul(h->scores, (const void *[]){h->scores, &f->scale}, (const unsigned char[]){0, 1},
           count * h->keys, NULL);
    if (h->mask != NULL)
        add_masks(h, first, count);
    f->softmax(&(takt_rows_step){.op = TAKT_ROWS_SOFTMAX,
                                 .dst = h->scores,
                                 .src = h->scores,
                                 .rows = count,
                                 .n = h->keys,
                                 .dst_stride = h->keys,
                                 .src_stride = h->keys,
                                 .poll = h->poll});
}

void takt_attention_weigh(const takt_attention_head *h, size_t first, size_t count, size_t seen,
                          size_t stride)
{
    enum { AT_ONCE = 1 << 14 }; /* elements: a step polls after more of them */
    const takt_attention *f = h->f;
    if (!f->is_causal && seen == h->keys && stride == seen && seen > 0 && seen <= AT_ONCE / count) {
        weigh_all(h, first, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float *row = h->scores + i * stride;
        const size_t limit = takt_attention_limit(f, h->keys, first + i);
        f->mul(row, (const void *[]){row, &f->scale}, (const unsigned char[]){0, 1}, limit, NULL);
        if (h->mask != NULL)
            add_mask(h, first + i, limit, row);
        const takt_rows_step softmax = {.op = TAKT_ROWS_SOFTMAX,
                                        .dst = row,
                                        .src = row,
                                        .rows = limit == 0 && h->keys > 0 ? 0 : 1,
                                        .n = limit,
                                        .dst_stride = stride,
                                        .src_stride = stride,
                                        .poll = h->poll};
        f->softmax(&softmax);
        memset(row + limit, 0, (seen - limit) * sizeof *row);
    }
}

/* Whether a result is NaN or zero. Signs are as good as random, so comparisons of floats, which
 * compilers turn into branches, would take ten times as long. */
static bool has_doubtful(const float *x, size_t count)
{
    const uint32_t infinite = UINT32_C(0x7f800000);
    uint32_t found = 0; /* as wide as a float, so that compilers use vectors */
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= UINT32_C(0x7fffffff);
        found |= (bits == 0) | (bits > infinite);
    }
    return found != 0;
}

void takt_attention_exclude(const takt_attention_head *h, size_t first, size_t count, size_t seen)
{
    const takt_attention *f = h->f;
    const takt_shorter v = {.gemm = f->gemm,
                            .panels = f->panels,
                            .k = seen,
                            .n = f->value_dim,
                            .b = h->v_packed,
                            .scratch = h->scratch,
                            .part = h->scratch + f->kernel_floats,
                            .blocking = f->blocking};
    for (size_t i = 0; i < count; i++) {
        float *out = h->out + (first + i) * f->heads * f->value_dim;
        const size_t limit = takt_attention_limit(f, h->keys, first + i);
        if (limit == 0)
            memset(out, 0, f->value_dim * sizeof *out);
        else if (limit < seen && has_doubtful(out, f->value_dim))
            takt_cpu_shorter(&v, h->scores + i * seen, limit, out);
    }
}
