/* NonMaxSuppression.c - NonMaxSuppression: the number of boxes is found at run time. */
#include <math.h>

#include "io/onnx/lengths.h"
#include "op/record/nms.h"

/* Input `i` as a vector of one element, or a given number as one. */
static takt_id one_of(takt_call *c, size_t i, takt_dtype dtype, double fallback)
{
    const takt_dim one = 1;
    const takt_id id =
        takt_onnx_has(c, i) ? takt_onnx_in(c, i) : takt_onnx_scalar(c, dtype, fallback);
    return id == TAKT_NONE ? id : takt_reshape(c->g, takt_onnx_cast(c, id, dtype), &one, 1);
}

static bool differ(takt_dim a, takt_dim b)
{
    return takt_dim_is_number(a) && takt_dim_is_number(b) && a != b;
}

static bool fit(const takt_type *boxes, const takt_type *scores)
{
    return boxes->rank == 3 && scores->rank == 3 && boxes->dtype == scores->dtype &&
           takt_dtype_is_float(boxes->dtype) && !differ(boxes->dim[2], 4) &&
           !differ(boxes->dim[1], scores->dim[2]) && !differ(boxes->dim[0], scores->dim[0]);
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0), scores = *takt_onnx_type(c, 1);
    const takt_array *limit = takt_onnx_has(c, 2) ? takt_onnx_peek(c, 2) : NULL;
    const int64_t *most = takt_array_one(limit);
    const int64_t none = 0;
    if (!takt_onnx_has(c, 2))
        most = &none;
    const takt_id in[5] = {takt_onnx_in(c, 0), takt_onnx_in(c, 1), one_of(c, 2, TAKT_I64, 0),
                           one_of(c, 3, t.dtype, 0), one_of(c, 4, t.dtype, -INFINITY)};
    const bool is_small = most != NULL && *most >= 0 && *most < INT32_MAX;
    const takt_named_attr attrs[] = {
        {"center", takt_attr_bool(takt_onnx_i(c, "center_point_box", 0) != 0)},
        {"most", takt_attr_i64(is_small ? *most : -1)}};
    if (c->status != TAKT_OK)
        return c->status;
    if (!fit(&t, &scores))
        return takt_onnx_refuse(c, "boxes and scores do not fit");
    const takt_id found = takt_graph_call(c->g, &takt_op_nms, 5, in, 2, attrs);
    if (found == TAKT_NONE)
        return takt_onnx_done(c, found);
    const takt_id rows = takt_graph_get(c->g, found, 0);
    const takt_dim bound = rows != TAKT_NONE ? takt_type_of(c->g, rows)->dim[0] : 0;
    const takt_dim count =
        takt_onnx_length(c, takt_graph_get(c->g, found, 1), takt_onnx_at_most(bound));
    return takt_onnx_done(c, takt_onnx_sized(c, rows, count));
}

const takt_onnx_op takt_onnx_NonMaxSuppression = {.names = {"NonMaxSuppression"}, .adapt = adapt};
