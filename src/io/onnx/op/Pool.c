/* Pool.c - MaxPool, AveragePool and LpPool. */
#include <math.h>

#include "io/onnx/spatial.h"

static takt_id pooled(takt_call *c, const takt_op *op, takt_id x, const takt_spatial *s)
{
    const takt_named_attr attrs[] = {
        {"kernel", takt_attr_i64s(s->kernel, s->count)},
        {"stride", takt_attr_i64s(s->stride, s->count)},
        {"dilation", takt_attr_i64s(s->dilation, s->count)},
        {"pad", takt_attr_i64s(s->pad, 2 * s->count)},
        {"ceil", takt_attr_bool(s->ceil)},
        {"count_pad", takt_attr_bool(takt_onnx_i(c, "count_include_pad", 0) != 0)}};
    return takt_onnx_op1(c, op, x, op == &takt_op_avg_pool ? 6 : 5, attrs);
}

/* [rows, positions] back to [N, C, out…]. */
static takt_id folded(takt_call *c, takt_id y, const takt_type *x, const takt_spatial *s,
                      const int64_t *out)
{
    takt_dim dims[TAKT_MAX_RANK] = {x->dim[0], x->dim[1]};
    for (size_t i = 0; i < s->count; i++)
        dims[i + 2] = out[i];
    return takt_reshape(c->g, y, dims, s->count + 2);
}

/* flat [positions, elements] with -1 replaced by the first element of the window that is not
 * padding: padding wins only where all elements are -inf. `none` marks windows without such an
 * element. */
static takt_id without_padding(takt_call *c, takt_id flat, int64_t size, takt_id *none)
{
    const int64_t axis = 1;
    const takt_id end = takt_scalar_i64(c->g, size);
    const takt_id outside = takt_binary(c->g, &takt_op_lt, flat, takt_scalar_i64(c->g, 0));
    const takt_id inner = takt_select(c->g, outside, end, flat);
    const takt_id first = takt_reduce_over(c->g, &takt_op_reduce_min, inner, &axis, 1, true);
    if (first == TAKT_NONE)
        return first;
    *none = takt_binary(c->g, &takt_op_eq, first, end);
    return takt_select(c->g, outside, first, flat);
}

/* Converts row-major flat indices to column-major ones. */
static takt_id columns(takt_call *c, takt_id flat, const int64_t *in, size_t count)
{
    takt_id sum = takt_scalar_i64(c->g, 0);
    int64_t before = 1; /* elements of the axes before, whose product fits */
    for (size_t i = 0; i < count; i++) {
        int64_t after = 1;
        for (size_t k = i + 1; k < count; k++)
            after *= in[k];
        const takt_id at =
            takt_binary(c->g, &takt_op_mod, takt_div(c->g, flat, takt_scalar_i64(c->g, after)),
                        takt_scalar_i64(c->g, in[i]));
        sum = takt_add(c->g, sum, takt_mul(c->g, at, takt_scalar_i64(c->g, before)));
        before *= in[i];
    }
    return sum;
}

/* The input index of each maximum, found among the elements of its window. */
static takt_id indices(takt_call *c, takt_id x, const takt_spatial *s)
{
    const takt_type t = *takt_type_of(c->g, x);
    const bool by_columns = takt_onnx_i(c, "storage_order", 0) != 0;
    int64_t in[TAKT_ONNX_SPATIAL], out[TAKT_ONNX_SPATIAL], size = 1;
    takt_id flat = TAKT_NONE, none = TAKT_NONE;
    const takt_id w =
        takt_spatial_unfold(c, takt_onnx_cast(c, x, TAKT_F64), s, -INFINITY, out, &flat);
    if (w == TAKT_NONE)
        return w;
    for (size_t i = 0; i < s->count; i++) { /* numbers with a product: takt_spatial_unfold */
        if (takt_dim_resolve(c->g->dims, t.dim[i + 2], &in[i]) != TAKT_OK)
            return TAKT_NONE;
        size *= in[i];
    }
    flat = without_padding(c, flat, size, &none);
    if (by_columns && size > 0)
        flat = columns(c, flat, in, s->count);
    flat = flat == TAKT_NONE ? flat : takt_select(c->g, none, takt_scalar_i64(c->g, -1), flat);
    if (flat == TAKT_NONE)
        return flat;
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(2)}, {"keep", takt_attr_bool(true)}};
    const takt_id best = takt_onnx_op1(c, &takt_op_argmax, w, 2, attrs);
    const takt_type wt = *takt_type_of(c->g, w);
    const takt_id all = takt_broadcast(c->g, flat, wt.dim, 3);
    takt_id at = takt_onnx_op2(c, &takt_op_gather_elements, all, best, 1,
                               &(takt_named_attr){"axis", takt_attr_i64(2)});
    at = takt_onnx_squeeze(c, at, 2);
    const takt_named_attr iota[] = {{"shape", takt_attr_shape((takt_dim[]){wt.dim[0], 1}, 2)}};
    const takt_id row = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 1, iota);
    const takt_id lost = takt_binary(c->g, &takt_op_lt, at, takt_scalar_i64(c->g, 0));
    const takt_id placed = takt_add(c->g, at, takt_mul(c->g, row, takt_scalar_i64(c->g, size)));
    at = takt_select(c->g, lost, at, placed); /* a window of only padding has none */
    return at == TAKT_NONE ? at : folded(c, at, &t, s, out);
}

static takt_id lp(takt_call *c, takt_id x, const takt_spatial *s)
{
    const takt_type t = *takt_type_of(c->g, x);
    const double p = (double)takt_onnx_i(c, "p", 2);
    int64_t out[TAKT_ONNX_SPATIAL];
    takt_id flat;
    const takt_id power = takt_binary(c->g, &takt_op_pow, takt_unary(c->g, &takt_op_abs, x),
                                      takt_scalar_like(c->g, x, p));
    const takt_id w = takt_spatial_unfold(c, power, s, 0, out, &flat);
    const int64_t last = 2;
    const takt_id sum = takt_reduce_over(c->g, &takt_op_reduce_sum, w, &last, 1, false);
    if (sum == TAKT_NONE)
        return sum;
    const takt_id root = takt_binary(c->g, &takt_op_pow, sum, takt_scalar_like(c->g, sum, 1 / p));
    return folded(c, root, &t, s, out);
}

static takt_status adapt(takt_call *c)
{
    const takt_type *x = takt_onnx_type(c, 0);
    const takt_ints kernel = takt_onnx_ints(c, "kernel_shape");
    takt_spatial s;
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(takt_spatial_read(c, x, kernel.at, kernel.count, &s));
    s.ceil = takt_onnx_i(c, "ceil_mode", 0) != 0;
    const takt_id in = takt_onnx_in(c, 0);
    if (takt_span_is(c->node->op, "LpPool"))
        return takt_onnx_done(c, lp(c, in, &s));
    const bool is_max = takt_span_is(c->node->op, "MaxPool");
    takt_onnx_set(c, 0, pooled(c, is_max ? &takt_op_max_pool : &takt_op_avg_pool, in, &s));
    if (is_max && c->out_count > 1 && c->node->outputs[1].length > 0)
        takt_onnx_set(c, 1, indices(c, in, &s));
    return c->status;
}

const takt_onnx_op takt_onnx_Pool = {.names = {"MaxPool", "AveragePool", "LpPool"}, .adapt = adapt};
