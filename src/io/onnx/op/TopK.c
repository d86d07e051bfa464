/* TopK.c - TopK: k is an attribute, or an input from opset 10 on; a named k sorts everything. */
#include "io/onnx/lengths.h"

static takt_status by_number(takt_call *c)
{
    const takt_ints k = c->opset >= 10 ? takt_onnx_known_ints(c, 1) : (takt_ints){0};
    const int64_t count = k.count > 0 ? k.at[0] : takt_onnx_i(c, "k", 0);
    const takt_named_attr attrs[] = {{"k", takt_attr_i64(count)},
                                     {"axis", takt_attr_i64(takt_onnx_i(c, "axis", -1))},
                                     {"largest", takt_attr_bool(takt_onnx_i(c, "largest", 1) != 0)},
                                     {"sorted", takt_attr_bool(takt_onnx_i(c, "sorted", 1) != 0)}};
    const takt_id y = takt_onnx_op1(c, &takt_op_top_k, takt_onnx_in(c, 0), 4, attrs);
    if (y == TAKT_NONE)
        return takt_onnx_done(c, y);
    takt_onnx_set(c, 0, takt_graph_get(c->g, y, 0));
    takt_onnx_set(c, 1, takt_graph_get(c->g, y, 1));
    return c->status;
}

/* k is a named dimension: a sort, then its first k unless that is everything. */
static takt_status by_name(takt_call *c, takt_dim k)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", -1), t.rank);
    const takt_named_attr attrs[] = {
        {"axis", takt_attr_i64(axis)},
        {"descending", takt_attr_bool(takt_onnx_i(c, "largest", 1) != 0)}};
    if (c->status != TAKT_OK)
        return c->status;
    const takt_id y = takt_onnx_op1(c, &takt_op_sort, takt_onnx_in(c, 0), 2, attrs);
    const bool is_all = takt_dim_same(c->g->dims, k, t.dim[axis]);
    const takt_named_attr shape = {"shape", takt_attr_shape(&k, 1)};
    const takt_id first = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 1, &shape);
    for (size_t i = 0; i < 2; i++) {
        const takt_id all = y == TAKT_NONE ? y : takt_graph_get(c->g, y, i);
        takt_onnx_set(c, i, is_all ? all : takt_onnx_gather(c, all, first, axis));
    }
    return c->status;
}

static takt_status adapt(takt_call *c)
{
    if (c->opset < 10 || takt_onnx_peek(c, 1) != NULL)
        return by_number(c);
    size_t count = 0;
    const takt_syms syms = takt_onnx_peek_syms(c, 1);
    const takt_id asked = syms.at == NULL ? takt_onnx_vector(c, 1, &count) : TAKT_NONE;
    if (asked != TAKT_NONE && count == 1) { /* the count is found at run time */
        const takt_type t = *takt_onnx_type(c, 0);
        const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", -1), t.rank);
        const takt_dim most = c->status == TAKT_OK ? t.dim[axis] : 0;
        const takt_dim many = takt_onnx_length(c, asked, takt_onnx_at_most(most));
        return c->status == TAKT_OK ? by_name(c, many) : c->status;
    }
    const takt_dim *k = takt_onnx_dims(c, 1, &count);
    if (c->status != TAKT_OK)
        return c->status;
    return count == 1 ? by_name(c, k[0]) : takt_onnx_refuse(c, "k has %zu elements", count);
}

const takt_onnx_op takt_onnx_TopK = {.names = {"TopK"}, .adapt = adapt};
