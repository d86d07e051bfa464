/* Cum.c - CumSum and CumProd. */
#include "io/onnx/lengths.h"

/* A product is unrolled: one multiplication for each element of the axis. */
static takt_id product(takt_call *c, takt_id x, int axis, bool exclusive, bool reverse)
{
    takt_dim size = takt_type_of(c->g, x)->dim[axis];
    if (c->status == TAKT_OK)
        c->status = takt_dim_resolve(c->g->dims, size, &size);
    if (!takt_dim_is_number(size) || size > 4096 || size == 0) {
        (void)takt_onnx_refuse(c, "an axis without a number, or of more than 4096");
        return TAKT_NONE;
    }
    takt_id *part = takt_onnx_get(c, (size_t)size, sizeof *part), sum = TAKT_NONE;
    if (part == NULL)
        return TAKT_NONE;
    for (int64_t i = 0; i < size; i++) {
        const int64_t at = reverse ? size - 1 - i : i;
        const takt_id row = takt_slice(c->g, x, axis, at, at + 1, 1);
        if (i == 0)
            sum = exclusive ? takt_broadcast_like(c->g, takt_scalar_like(c->g, row, 1), row) : row;
        else if (!exclusive)
            sum = takt_mul(c->g, sum, row);
        part[at] = sum;
        if (exclusive)
            sum = takt_mul(c->g, sum, row);
    }
    return takt_concat(c->g, part, (size_t)size, axis);
}

static takt_id along(takt_call *c, int axis)
{
    const bool exclusive = takt_onnx_i(c, "exclusive", 0) != 0;
    const bool reverse = takt_onnx_i(c, "reverse", 0) != 0;
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"exclusive", takt_attr_bool(exclusive)},
                                     {"reverse", takt_attr_bool(reverse)}};
    const takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK || x == TAKT_NONE)
        return TAKT_NONE;
    return takt_span_is(c->node->op, "CumProd") ? product(c, x, axis, exclusive, reverse)
                                                : takt_onnx_op1(c, &takt_op_cumsum, x, 3, attrs);
}

/* The axis is found at run time: computes all, and selects one. */
static takt_status by_value(takt_call *c, takt_id axis)
{
    const int rank = takt_onnx_type(c, 0)->rank;
    takt_id at = takt_onnx_item(c, axis, 0), y = c->status == TAKT_OK ? along(c, 0) : TAKT_NONE;
    at = takt_select(c->g, takt_onnx_with(c, &takt_op_lt, at, 0),
                     takt_onnx_with(c, &takt_op_add, at, rank), at);
    for (int i = 1; i < rank && c->status == TAKT_OK; i++)
        y = takt_select(c->g, takt_onnx_with(c, &takt_op_eq, at, i), along(c, i), y);
    return takt_onnx_done(c, y);
}

static takt_status adapt(takt_call *c)
{
    size_t count = 0;
    const takt_id found = takt_onnx_peek(c, 1) == NULL ? takt_onnx_vector(c, 1, &count) : TAKT_NONE;
    if (found != TAKT_NONE && count == 1 && takt_onnx_type(c, 0)->rank > 0)
        return by_value(c, found);
    const takt_ints axis = takt_onnx_known_ints(c, 1);
    const int at = takt_onnx_axis(c, axis.count > 0 ? axis.at[0] : 0, takt_onnx_type(c, 0)->rank);
    return c->status == TAKT_OK ? takt_onnx_done(c, along(c, at)) : c->status;
}

const takt_onnx_op takt_onnx_Cum = {.names = {"CumSum", "CumProd"}, .adapt = adapt};
