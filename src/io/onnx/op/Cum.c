/* Cum.c - CumSum and CumProd. */
#include "io/onnx/adapt.h"

/* A product is unrolled: one multiplication for each element of the axis. */
static takt_status product(takt_call *c, takt_id x, int axis, bool exclusive, bool reverse)
{
    takt_dim size;
    TAKT_TRY(takt_dim_resolve(c->g->dims, takt_type_of(c->g, x)->dim[axis], &size));
    if (!takt_dim_is_number(size) || size > 4096 || size == 0)
        return takt_onnx_refuse(c, "an axis without a number, or of more than 4096");
    takt_id *part = takt_onnx_get(c, (size_t)size, sizeof *part), sum = TAKT_NONE;
    if (part == NULL)
        return TAKT_ERR_MEMORY;
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
    return takt_onnx_done(c, takt_concat(c->g, part, (size_t)size, axis));
}

static takt_status adapt(takt_call *c)
{
    const takt_ints axis = takt_onnx_known_ints(c, 1);
    const bool exclusive = takt_onnx_i(c, "exclusive", 0) != 0;
    const bool reverse = takt_onnx_i(c, "reverse", 0) != 0;
    const int at = takt_onnx_axis(c, axis.count > 0 ? axis.at[0] : 0, takt_onnx_type(c, 0)->rank);
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(at)},
                                     {"exclusive", takt_attr_bool(exclusive)},
                                     {"reverse", takt_attr_bool(reverse)}};
    if (c->status != TAKT_OK)
        return c->status;
    if (takt_span_is(c->node->op, "CumProd"))
        return product(c, takt_onnx_in(c, 0), at, exclusive, reverse);
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_cumsum, takt_onnx_in(c, 0), 3, attrs));
}

const takt_onnx_op takt_onnx_Cum = {.names = {"CumSum", "CumProd"}, .adapt = adapt};
