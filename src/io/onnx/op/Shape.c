/* Shape.c - Shape and Size: dimensions as numbers. */
#include "io/onnx/adapt.h"

static int64_t clamp(int64_t v, int rank)
{
    v = v < 0 ? v + rank : v;
    return v < 0 ? 0 : v > rank ? rank : v;
}

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const int rank = takt_onnx_type(c, 0)->rank;
    takt_id parts[TAKT_MAX_RANK];
    int64_t numbers[TAKT_MAX_RANK];
    size_t count = 0;
    bool known = true;
    if (c->status != TAKT_OK)
        return c->status;
    if (takt_span_is(c->node->op, "Size")) {
        takt_id product = takt_scalar_i64(c->g, 1);
        for (int i = 0; i < rank; i++)
            product = takt_mul(c->g, product, takt_onnx_size(c, x, i));
        return takt_onnx_done(c, product);
    }
    const int64_t stop = clamp(takt_onnx_i(c, "end", rank), rank);
    for (int64_t i = clamp(takt_onnx_i(c, "start", 0), rank); i < stop; i++) {
        takt_dim d = takt_type_of(c->g, x)->dim[i];
        TAKT_TRY(takt_dim_resolve(c->g->dims, d, &d));
        numbers[count] = d;
        known = known && takt_dim_is_number(d);
        parts[count++] = takt_onnx_size(c, x, (int)i);
    }
    if (known)
        return takt_onnx_done(c, takt_onnx_i64s(c, numbers, count));
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_stack, count, parts, 0, NULL));
}

const takt_onnx_op takt_onnx_Shape = {.names = {"Shape", "Size"}, .adapt = adapt};
