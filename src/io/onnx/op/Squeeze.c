/* Squeeze.c - Squeeze and Unsqueeze: axes are an attribute, from opset 13 on an input. */
#include "io/onnx/lengths.h"

/* Axes found at run time: the result has the remaining sizes, or ones between them. Memory is
 * planned as if the axes were the first. */
static takt_status by_values(takt_call *c, bool adds, takt_id axes, size_t count)
{
    takt_graph *g = c->g;
    const takt_id x = takt_onnx_in(c, 0);
    const takt_type t = *takt_onnx_type(c, 0);
    takt_onnx_bound bounds[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK], most = 1;
    takt_id own[TAKT_MAX_RANK], n;
    const size_t rank = adds ? (size_t)t.rank + count : (size_t)t.rank - count;
    if (c->status != TAKT_OK || rank > TAKT_MAX_RANK || (!adds && count > (size_t)t.rank))
        return takt_onnx_refuse(c, "%zu axes of rank %d", count, t.rank);
    if (rank == 0 || count == 0)
        return takt_onnx_done(c, rank == 0 ? takt_onnx_shape(c, x, NULL, 0) : x);
    takt_onnx_sizes(c, x, own);
    for (size_t i = 0; i < count && adds; i++)
        own[(size_t)t.rank + i] = takt_scalar_i64(g, 1);
    for (int i = 0; i < t.rank && c->status == TAKT_OK; i++)
        c->status = takt_dim_make(g->dims, TAKT_DIM_MAX, most, t.dim[i], &most);
    for (size_t i = 0; i < rank; i++) {
        const size_t at = adds ? i - count : i + count;
        bounds[i] = (takt_onnx_bound){most, adds && i < count ? 1 : t.dim[at]};
    }
    /* Squeeze keeps the remaining axes in order; Unsqueeze puts the removed ones back. */
    const size_t all = adds ? rank : (size_t)t.rank;
    takt_id order =
        takt_onnx_op1(c, &takt_op_sort, takt_onnx_is_axis(c, axes, count, (int)all), 0, NULL);
    order = order == TAKT_NONE ? order : takt_graph_get(g, order, 1);
    if (adds && order != TAKT_NONE) {
        order = takt_onnx_op1(c, &takt_op_sort, order, 0, NULL);
        order = order == TAKT_NONE ? order : takt_graph_get(g, order, 1);
    }
    n = takt_onnx_gather(c, takt_onnx_pack(c, own, all), order, 0);
    n = adds ? n : takt_slice(g, n, 0, 0, (int64_t)rank, 1);
    takt_onnx_lengths(c, n, bounds, rank, dims);
    return takt_onnx_done(c, c->status == TAKT_OK ? takt_reshape(g, x, dims, rank) : TAKT_NONE);
}

static takt_status adapt(takt_call *c)
{
    const bool adds = takt_span_is(c->node->op, "Unsqueeze");
    size_t count = 0;
    const bool is_known =
        takt_onnx_ints(c, "axes").is_set || !takt_onnx_has(c, 1) || takt_onnx_peek(c, 1) != NULL;
    const takt_id found = is_known ? TAKT_NONE : takt_onnx_vector(c, 1, &count);
    if (found != TAKT_NONE)
        return by_values(c, adds, found, count);
    const takt_ints axes = takt_onnx_list(c, "axes", 1);
    const takt_named_attr attr = {"axes", takt_attr_i64s(axes.at, axes.count)};
    const takt_op *op = adds ? &takt_op_unsqueeze : &takt_op_squeeze;
    const size_t given = adds || axes.count > 0;
    if (adds && !axes.is_set)
        return takt_onnx_refuse(c, "axes are missing");
    return takt_onnx_done(c, takt_onnx_op1(c, op, takt_onnx_in(c, 0), given, &attr));
}

const takt_onnx_op takt_onnx_Squeeze = {.names = {"Squeeze", "Unsqueeze"}, .adapt = adapt};
