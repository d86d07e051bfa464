/* Choose.c - SELECT, SELECT_V2, LOGICAL_NOT, ARG_MAX, ARG_MIN, TOPK_V2 and CUMSUM. */
#include "io/tflite/quant.h"

static takt_id selected(takt_tfl_call *c)
{
    takt_id yes = takt_tfl_need(c, 0);
    const takt_id a = takt_tfl_need(c, 1), b = takt_tfl_need(c, 2);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_type t = *takt_type_of(c->g, yes);
    const int rank = takt_type_of(c->g, a)->rank;
    if (takt_tfl_is(c, "SELECT") && t.rank == 1 && rank > 1) { /* chooses whole rows */
        int64_t dims[TAKT_MAX_RANK] = {t.dim[0]};
        for (int d = 1; d < rank; d++)
            dims[d] = 1;
        yes = takt_tfl_shape(c, yes, dims, rank);
    }
    return takt_tfl_good(c) ? takt_select(c->g, yes, a, b) : TAKT_NONE;
}

static takt_id best(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const int axis = takt_tfl_axis(c, takt_tfl_known_one(c, 1), takt_type_of(c->g, x)->rank);
    const takt_op *op = takt_tfl_is(c, "ARG_MAX") ? &takt_op_argmax : &takt_op_argmin;
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    return takt_tfl_cast(c, takt_tfl_op1(c, op, x, 1, &attr),
                         takt_tfl_dtype_of(takt_tfl_tensor_out(c, 0)->type));
}

static takt_status top(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_named_attr attr = {"k", takt_attr_i64(takt_tfl_known_one(c, 1))};
    const takt_id y = takt_tfl_op1(c, &takt_op_top_k, x, 1, &attr);
    if (y == TAKT_NONE || c->op->output_count != 2)
        return takt_tfl_refuse(c, "it has %zu results", c->op->output_count);
    takt_tfl_set(c, 0, takt_graph_get(c->g, y, 0));
    takt_tfl_set(c, 1,
                 takt_tfl_cast(c, takt_graph_get(c->g, y, 1),
                               takt_tfl_dtype_of(takt_tfl_tensor_out(c, 1)->type)));
    return c->status;
}

static takt_id summed(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const int axis = takt_tfl_axis(c, takt_tfl_known_one(c, 1), takt_type_of(c->g, x)->rank);
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"exclusive", takt_attr_bool(takt_tfl_u8(c, 0, 0) != 0)},
                                     {"reverse", takt_attr_bool(takt_tfl_u8(c, 1, 0) != 0)}};
    return takt_tfl_op1(c, &takt_op_cumsum, x, 3, attrs);
}

static takt_status adapt(takt_tfl_call *c)
{
    if (takt_tfl_is(c, "TOPK_V2"))
        return top(c);
    if (takt_tfl_is(c, "LOGICAL_NOT"))
        return takt_tfl_done(c, takt_tfl_op1(c, &takt_op_not, takt_tfl_need(c, 0), 0, NULL));
    return takt_tfl_done(c, takt_tfl_is(c, "CUMSUM")                                 ? summed(c)
                            : takt_tfl_is(c, "ARG_MAX") || takt_tfl_is(c, "ARG_MIN") ? best(c)
                                                                                     : selected(c));
}

const takt_tflite_op takt_tflite_Choose = {
    .names = {"SELECT", "SELECT_V2", "LOGICAL_NOT", "ARG_MAX", "ARG_MIN", "TOPK_V2", "CUMSUM"},
    .adapt = adapt};
