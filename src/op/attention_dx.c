/* attention_dx.c - gradients of attention with respect to q, k and v.
 *
 * With P = softmax(q k' * scale) and D = softmax_dx(P, dy v') * scale: dq = D k, dk = D' q and dv =
 * P' dy for every head; heads that share one of k and v add up. P is recomputed, so that the scores
 * need not be kept. There is neither a mask nor a length: attention with one is differentiated
 * through its lowering.
 */
#include <math.h>

#include "op/util/check.h"
#include "op/util/heads.h"
#include "op/util/make.h"

enum { DY = 3 };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_check_heads(in));
    const takt_type out = takt_heads_out(in);
    TAKT_TRY(takt_check_same_dtype(in, 0, DY));
    TAKT_TRY(takt_check_shape(in, DY, &out, "attention's result"));
    for (size_t k = 0; k < DY; k++)
        in->out[k] = *in->type[k];
    return TAKT_OK;
}

/* [batch, outer, inner, seq, dim] as [batch, seq, outer * inner * dim]; inner ones are added up if
 * `like` has one. */
static takt_id merged(takt_graph *g, takt_id x, takt_id like)
{
    const takt_type whole = *takt_type_of(g, like);
    const takt_dim *d = takt_type_of(g, x)->dim;
    const bool is_shared = whole.dim[2] != d[1] * d[2] * d[4];
    if (is_shared)
        x = takt_reduce_over(g, &takt_op_reduce_sum, x, (const int64_t[]){2}, 1, true);
    const takt_id transposed = takt_transpose(g, x, (const int64_t[]){0, 3, 1, 2, 4}, 5);
    return takt_reshape(g, transposed, whole.dim, 3);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const int64_t heads = n->attr[TAKT_HEADS].i64, shared = takt_kv_heads(n->attr);
    const int64_t group = heads / shared;
    const takt_type *q = takt_type_of(g, n->in[0]), *k = takt_type_of(g, n->in[1]);
    const takt_dim flat[4] = {q->dim[0], heads, q->dim[1], k->dim[1]};
    const takt_dim grouped[5] = {q->dim[0], shared, group, q->dim[1], k->dim[1]};
    const double scale = takt_attention_scale(g, n);
    const bool is_causal = n->attr[TAKT_CAUSAL].boolean;
    takt_id part[4];
    for (uint32_t i = 0; i < 4; i++)
        part[i] = takt_split_heads(g, n->in[i], shared, i == 0 || i == DY ? group : 1);
    const takt_id product = takt_matmul(g, part[0], part[1], false, true);
    takt_id scores = takt_reshape(g, takt_mul_scalar(g, product, scale), flat, 4);
    const takt_id seen = is_causal ? takt_keys_seen(g, n, flat + 2) : TAKT_NONE;
    if (is_causal)
        scores = takt_select(g, seen, scores, takt_scalar_like(g, scores, -INFINITY));
    const takt_id weights = takt_make_axis(g, &takt_op_softmax, 1, &scores, -1);
    const takt_id d_weights =
        takt_reshape(g, takt_matmul(g, part[DY], part[2], false, true), flat, 4);
    takt_id d = takt_make_axis(g, &takt_op_softmax_dx, 2, (takt_id[]){weights, d_weights}, -1);
    if (is_causal)
        d = takt_select(g, seen, d, takt_scalar_like(g, d, 0));
    d = takt_mul_scalar(g, takt_reshape(g, d, grouped, 5), scale);
    const takt_id p = takt_reshape(g, weights, grouped, 5);
    out[0] = merged(g, takt_matmul(g, d, part[1], false, false), n->in[0]);
    out[1] = merged(g, takt_matmul(g, d, part[0], true, false), n->in[1]);
    out[2] = merged(g, takt_matmul(g, p, part[DY], true, false), n->in[2]);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *q = takt_type_of(g, n->in[0]), *k = takt_type_of(g, n->in[1]);
    const double keys = takt_dim_is_number(k->dim[1]) ? (double)k->dim[1] : 0;
    cost->flops =
        2 * keys * (3 * takt_make_count(q) + 2 * takt_make_count(takt_type_of(g, n->in[DY])));
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_attention_dx = {
    .name = "attention_dx",
    .summary = "gradients of attention by q, k and v",
    .in_min = 4,
    .in_max = 4,
    .out_count = 3,
    .in_names = {"q", "k", "v", "dy"},
    .attrs = {TAKT_HEADS_ATTRS},
    .traits = TAKT_CONTRACTS,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"attention_dx(f32[2, 3, 8], f32[2, 5, 8], f32[2, 5, 8], f32[2, 3, 8], heads=2)",
                "attention_dx(f32[1, 4, 12], f32[1, 4, 4], f32[1, 4, 6], f32[1, 4, 18], heads=6, "
                "kv_heads=2, causal=true)",
                "attention_dx(f64[2, 3, 4], f64[2, 5, 4], f64[2, 5, 4], f64[2, 3, 4], scale=0.25, "
                "causal=true)",
                "attention_dx(f32[1, 20, 6], f32[1, 33, 6], f32[1, 33, 4], f32[1, 20, 4], heads=2, "
                "causal=true)"},
};
