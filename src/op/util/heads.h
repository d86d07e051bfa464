/* heads.h - shared by attention and its gradient: attributes, checks, splitting heads. */
#ifndef TAKT_OP_UTIL_HEADS_H
#define TAKT_OP_UTIL_HEADS_H

#include "op/ops.h"

enum { TAKT_HEADS, TAKT_KV_HEADS, TAKT_SCALE, TAKT_CAUSAL };
#define TAKT_HEADS_ATTRS                                                                           \
    [TAKT_HEADS] = {.name = "heads",                                                               \
                    .type = TAKT_ATTR_I64,                                                         \
                    .fallback.i64 = 1,                                                             \
                    .summary = "heads of q"},                                                      \
    [TAKT_KV_HEADS] = {.name = "kv_heads",                                                         \
                       .type = TAKT_ATTR_I64,                                                      \
                       .summary = "heads of k and v; 0 means as many as q has"},                   \
    [TAKT_SCALE] = {.name = "scale",                                                               \
                    .type = TAKT_ATTR_F64,                                                         \
                    .is_optional = true,                                                           \
                    .summary = "factor of the scores; 1/sqrt(dim) if left out"},                   \
    [TAKT_CAUSAL] = {                                                                              \
        .name = "causal", .type = TAKT_ATTR_BOOL, .summary = "a query sees no later keys"}

int64_t takt_kv_heads(const takt_attr *attr);
/* Number of elements in a row of k or v: bytes are blocks of ggml's q8_0. */
takt_dim takt_kv_width(const takt_type *t);
/* Types of q, k and v, the first three inputs, and of the attributes. */
takt_status takt_check_heads(takt_infer *in);
/* The type of the result: [batch, queries, heads * value_dim]. */
takt_type takt_heads_out(const takt_infer *in);
double takt_attention_scale(const takt_graph *g, const takt_node *n);

/* [batch, seq, outer * inner * dim] as [batch, outer, inner, seq, dim]. */
takt_id takt_split_heads(takt_graph *g, takt_id x, int64_t outer, int64_t inner);
/* keys - queries: the keys that the first query sees in addition to its own. */
takt_id takt_keys_before(takt_graph *g, const takt_node *n);
/* [queries, keys]: query s sees key t if t - s <= keys - queries. */
takt_id takt_keys_seen(takt_graph *g, const takt_node *n, const takt_dim *dims);

#endif
