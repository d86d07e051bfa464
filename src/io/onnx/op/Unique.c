/* Unique.c - Unique: the number of distinct rows is found at run time. */
#include "op/record/unique.h"
#include "io/onnx/lengths.h"

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const bool has_axis = takt_onnx_attr(c, "axis") != NULL;
    const int64_t axis = takt_onnx_i(c, "axis", 0);
    takt_id x = takt_onnx_in(c, 0), part[4];
    if (c->status != TAKT_OK)
        return c->status;
    const takt_named_attr attrs[] = {
        {"sorted", takt_attr_bool(takt_onnx_i(c, "sorted", 1) != 0)},
        {"axis", takt_attr_i64(has_axis ? takt_onnx_axis(c, axis, t.rank) : 0)}};
    const takt_id found = takt_onnx_op1(c, &takt_op_unique, x, has_axis ? 2 : 1, attrs);
    if (found == TAKT_NONE)
        return takt_onnx_done(c, found);
    for (size_t i = 0; i < 4; i++)
        part[i] = takt_graph_get(c->g, found, i);
    takt_dim all = part[0] != TAKT_NONE ? takt_type_of(c->g, part[0])->dim[0] : 0;
    const takt_dim count = takt_onnx_length(c, part[3], takt_onnx_at_most(all));
    if (!has_axis)
        x = takt_onnx_flat(c, x, &all);
    const takt_id first = takt_onnx_sized(c, part[0], count);
    takt_onnx_set(c, 0, takt_onnx_gather(c, x, first, axis));
    takt_onnx_set(c, 1, first);
    takt_onnx_set(c, 2, part[1]);
    takt_onnx_set(c, 3, takt_onnx_sized(c, part[2], count));
    return c->status;
}

const takt_onnx_op takt_onnx_Unique = {.names = {"Unique"}, .adapt = adapt};
