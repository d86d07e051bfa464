/* few.c - attention of few queries and few keys: k and v are read in place, since packing them
 * would take longer than the products. */
#include "backend/cpu/attention/attention.h"

enum { QUERIES = 8, KEYS = 32 };

bool takt_attention_is_few(const takt_attention *f)
{
    return !f->is_causal && f->k_type == TAKT_F32 && f->v_type == TAKT_F32 && f->keys > 0 &&
           f->keys <= KEYS && f->queries <= QUERIES;
}

void takt_attention_few(const takt_attention_head *h, size_t first, size_t count)
{
    const takt_attention *f = h->f;
    f->direct(&(takt_direct_f32){.m = count,
                                 .n = h->keys,
                                 .k = f->dim,
                                 .a = h->q + first * f->heads * f->dim,
                                 .a_row = f->heads * f->dim,
                                 .b = h->k,
                                 .b_row = 1,
                                 .b_col = h->k_row,
                                 .c = h->scores,
                                 .ldc = h->keys});
    takt_attention_weigh(h, first, count, h->keys, h->keys);
    f->direct(&(takt_direct_f32){.m = count,
                                 .n = f->value_dim,
                                 .k = h->keys,
                                 .a = h->scores,
                                 .a_row = h->keys,
                                 .b = h->v,
                                 .b_row = h->v_row,
                                 .b_col = 1,
                                 .c = h->out + first * f->heads * f->value_dim,
                                 .ldc = f->heads * f->value_dim});
}
