/* Attention.c - Attention of opset 23 to 25: grouped heads, cache, masks, windows, soft cap. */
#include <math.h>

#include "io/onnx/heads.h"

typedef struct work {
    takt_call *c;
    takt_graph *g;
    bool is_flat; /* inputs are [batch, sequence, heads * size] */
    takt_dim batch, queries, keys, heads, kv_heads;
    takt_dtype dtype, wide; /* of the data, and of the softmax */
} work;

/* [batch, sequence, heads * size] to [batch, heads, sequence, size]. */
static takt_id spread(work *w, takt_id x, takt_dim heads)
{
    if (!w->is_flat || x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(w->g, x);
    takt_dim size;
    takt_graph_fail_if(w->g, takt_dim_make(w->g->dims, TAKT_DIM_FLOORDIV, t.dim[2], heads, &size));
    if (w->g->status != TAKT_OK)
        return TAKT_NONE;
    x = takt_reshape(w->g, x, (takt_dim[]){t.dim[0], t.dim[1], heads, size}, 4);
    return takt_transpose(w->g, x, (int64_t[]){0, 2, 1, 3}, 4);
}

static takt_id counting(work *w, takt_dim n, bool as_column)
{
    const takt_dim dims[4] = {1, 1, as_column ? n : 1, as_column ? 1 : n};
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(dims, 4)},
                                     {"axis", takt_attr_i64(as_column ? 2 : 3)}};
    return takt_graph_call(w->g, &takt_op_iota, 0, NULL, 2, attrs);
}

static takt_id barred(work *w, takt_id where)
{
    const takt_id zero = takt_onnx_scalar(w->c, w->wide, 0);
    return takt_select(w->g, where, takt_onnx_scalar(w->c, w->wide, -INFINITY), zero);
}

static takt_id joined(work *w, takt_id a, takt_id b)
{
    return a == TAKT_NONE ? b : takt_add(w->g, a, b);
}

/* The given mask: bool, or an addend; a short mask excludes the keys beyond it. */
static takt_id given_mask(work *w)
{
    takt_id m = takt_onnx_in(w->c, 3);
    if (m == TAKT_NONE)
        return m;
    const takt_type t = *takt_type_of(w->g, m);
    m = t.dtype == TAKT_BOOL ? barred(w, takt_unary(w->g, &takt_op_not, m))
                             : takt_onnx_cast(w->c, m, w->wide);
    const takt_dim last = t.rank > 0 ? t.dim[t.rank - 1] : 0;
    if (takt_dim_is_number(last) && takt_dim_is_number(w->keys) && last < w->keys && last > 1) {
        int64_t before[TAKT_MAX_RANK] = {0};
        takt_dim after[TAKT_MAX_RANK] = {0};
        after[t.rank - 1] = w->keys - last;
        const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, (size_t)t.rank)},
                                         {"after", takt_attr_shape(after, (size_t)t.rank)},
                                         {"value", takt_attr_f64(-INFINITY)}};
        m = takt_onnx_op1(w->c, &takt_op_pad, m, 3, attrs);
    }
    return m;
}

/* Each query's position among the keys, as a column. */
static takt_id places(work *w, takt_id lengths)
{
    takt_call *c = w->c;
    takt_id offset =
        takt_onnx_has(c, 4) ? takt_onnx_size(c, takt_onnx_in(c, 4), 2) : takt_scalar_i64(w->g, 0);
    if (lengths != TAKT_NONE)
        offset = takt_sub(w->g, lengths, takt_onnx_size(c, takt_onnx_in(c, 0), w->is_flat ? 1 : 2));
    return takt_add(w->g, counting(w, w->queries, true), offset);
}

/* How far a query sees to one side; -1: unlimited. */
static int64_t reach(work *w, const char *name)
{
    const int64_t n = takt_onnx_i(w->c, name, -1);
    if (n < -1)
        (void)takt_onnx_refuse(w->c, "%s is %lld", name, (long long)n);
    return n < INT32_MAX ? n : INT32_MAX;
}

/* Everything added to the scores, or TAKT_NONE. */
static takt_id bias(work *w)
{
    takt_call *c = w->c;
    takt_id sum = given_mask(w);
    takt_id lengths = takt_onnx_in(c, 6); /* keys that are not padding, per batch */
    if (lengths != TAKT_NONE)
        lengths = takt_reshape(w->g, lengths, (takt_dim[]){w->batch, 1, 1, 1}, 4);
    const int64_t left = reach(w, "left_window_size"), wide = reach(w, "right_window_size"),
                  right = takt_onnx_i(c, "is_causal", 0) != 0 ? 0 : wide;
    if (right >= 0) {
        const takt_id last = takt_add_scalar(w->g, places(w, lengths), (double)right);
        const takt_id later = takt_binary(w->g, &takt_op_lt, last, counting(w, w->keys, false));
        sum = joined(w, sum, barred(w, later));
    }
    if (left >= 0) {
        const takt_id first = takt_add_scalar(w->g, places(w, lengths), -(double)left);
        const takt_id before = takt_binary(w->g, &takt_op_lt, counting(w, w->keys, false), first);
        sum = joined(w, sum, barred(w, before));
    }
    if (lengths != TAKT_NONE) {
        const takt_id beyond = takt_binary(w->g, &takt_op_le, lengths, counting(w, w->keys, false));
        sum = joined(w, sum, barred(w, beyond));
    }
    return sum;
}

/* Softmax, with 0 in rows that are fully masked. */
static takt_id weights(work *w, takt_id scores, takt_id added)
{
    const int64_t last = -1;
    takt_id y = takt_onnx_op1(w->c, &takt_op_softmax, scores, 1,
                              &(takt_named_attr){"axis", takt_attr_i64(-1)});
    if (added == TAKT_NONE || y == TAKT_NONE)
        return y;
    const takt_id top = takt_reduce_over(w->g, &takt_op_reduce_max, added, &last, 1, true);
    if (top == TAKT_NONE)
        return top;
    const takt_id none =
        takt_binary(w->g, &takt_op_eq, top, takt_onnx_scalar(w->c, w->wide, -INFINITY));
    return takt_select(w->g, none, takt_onnx_scalar(w->c, w->wide, 0), y);
}

static takt_id attend(work *w, takt_id q, takt_id k, takt_id v)
{
    takt_call *c = w->c;
    const takt_dim size = takt_type_of(w->g, q)->dim[3];
    const double scale =
        takt_onnx_attr(c, "scale") != NULL ? takt_onnx_f(c, "scale", 1) : takt_heads_scale(c, size);
    const double cap = takt_onnx_f(c, "softcap", 0);
    const int64_t mode = takt_onnx_i(c, "qk_matmul_output_mode", 0);
    q = takt_mul_scalar(w->g, q, sqrt(scale));
    k = takt_heads_repeat(c, k, w->heads);
    v = takt_heads_repeat(c, v, w->heads);
    if (c->status != TAKT_OK || k == TAKT_NONE || v == TAKT_NONE)
        return TAKT_NONE;
    k = takt_mul_scalar(w->g, k, sqrt(scale));
    takt_id s = takt_matmul(w->g, q, k, false, true), seen = s;
    s = takt_onnx_cast(c, s, w->wide);
    const takt_id added = bias(w);
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    if (cap != 0)
        s = takt_mul_scalar(
            w->g, takt_unary(w->g, &takt_op_tanh, takt_mul_scalar(w->g, s, 1 / cap)), cap);
    if (mode == 1)
        seen = s;
    if (added != TAKT_NONE)
        s = takt_add(w->g, s, added);
    if (mode == 2)
        seen = s;
    s = weights(w, s, added);
    if (mode == 3)
        seen = s;
    takt_onnx_set(c, 3, takt_onnx_cast(c, seen, w->dtype));
    return takt_matmul(w->g, takt_onnx_cast(c, s, w->dtype), v, false, false);
}

static takt_status adapt(takt_call *c)
{
    work w = {.c = c, .g = c->g};
    const takt_type q = *takt_onnx_type(c, 0), k = *takt_onnx_type(c, 1);
    if (c->status != TAKT_OK)
        return c->status;
    w.is_flat = q.rank == 3;
    w.dtype = q.dtype;
    w.wide = takt_dtype_bits(q.dtype) < 32 ? TAKT_F32 : q.dtype;
    w.batch = q.dim[0];
    w.queries = q.dim[w.is_flat ? 1 : 2];
    w.heads = w.is_flat ? takt_onnx_i(c, "q_num_heads", 1) : q.dim[1];
    w.kv_heads = w.is_flat ? takt_onnx_i(c, "kv_num_heads", 1) : k.dim[1];
    TAKT_TRY(takt_dim_resolve(c->g->dims, w.heads, &w.heads));
    TAKT_TRY(takt_dim_resolve(c->g->dims, w.kv_heads, &w.kv_heads));
    if (!w.is_flat && (!takt_dim_is_number(w.heads) || !takt_dim_is_number(w.kv_heads)))
        return takt_onnx_refuse_size(c, "heads without a number");
    if (q.rank < 3 || q.rank > 4 || k.rank != q.rank || w.heads < 1 || w.kv_heads < 1 ||
        w.heads % w.kv_heads != 0)
        return takt_onnx_refuse(c, "ranks or heads that do not fit");
    takt_id qs = spread(&w, takt_onnx_in(c, 0), w.heads);
    takt_id ks = spread(&w, takt_onnx_in(c, 1), w.kv_heads);
    takt_id vs = spread(&w, takt_onnx_in(c, 2), w.kv_heads);
    if (takt_onnx_has(c, 4)) {
        ks = takt_concat(c->g, (takt_id[]){takt_onnx_in(c, 4), ks}, 2, 2);
        vs = takt_concat(c->g, (takt_id[]){takt_onnx_in(c, 5), vs}, 2, 2);
    }
    if (qs == TAKT_NONE || ks == TAKT_NONE || vs == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    w.keys = takt_type_of(c->g, ks)->dim[2];
    takt_onnx_set(c, 1, ks);
    takt_onnx_set(c, 2, vs);
    takt_id y = attend(&w, qs, ks, vs);
    if (w.is_flat && y != TAKT_NONE) {
        const takt_dim size = takt_type_of(c->g, y)->dim[3];
        takt_dim width;
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, w.heads, size, &width));
        y = takt_transpose(c->g, y, (int64_t[]){0, 2, 1, 3}, 4);
        y = takt_reshape(c->g, y, (takt_dim[]){w.batch, w.queries, width}, 3);
    }
    return takt_onnx_done(c, y);
}

const takt_onnx_op takt_onnx_Attention = {.names = {"Attention"}, .adapt = adapt};
