/* Range.c - Range: start, start + delta, … */
#include <math.h>

#include "io/onnx/adapt.h"

static takt_status of_numbers(takt_call *c, const takt_array *start, const takt_array *limit,
                              const takt_array *delta)
{
    const takt_dtype dtype = start->dtype;
    if (limit->dtype != dtype || delta->dtype != dtype)
        return takt_onnx_refuse(c, "inputs of different types");
    const bool is_float = start->f != NULL;
    const double from = is_float ? start->f[0] : (double)start->i[0];
    const double to = is_float ? limit->f[0] : (double)limit->i[0];
    const double by = is_float ? delta->f[0] : (double)delta->i[0];
    const double count = ceil((to - from) / by);
    if (by == 0 || isnan(count) || count > 1 << 26)
        return takt_onnx_refuse(c, "from %g to %g by %g", from, to, by);
    const int64_t n = count > 0 ? (int64_t)count : 0;
    double *v = takt_onnx_get(c, (size_t)n, sizeof *v);
    for (int64_t i = 0; v != NULL && i < n; i++)
        v[i] = from + (double)i * by;
    return v == NULL ? TAKT_ERR_MEMORY : takt_onnx_done(c, takt_onnx_floats(c, dtype, v, &n, 1));
}

/* 0, 1, … up to a dimension. */
static takt_status of_dimension(takt_call *c)
{
    const takt_syms start = takt_onnx_syms(c, 0), limit = takt_onnx_syms(c, 1),
                    delta = takt_onnx_syms(c, 2);
    if (c->status != TAKT_OK)
        return c->status;
    if (start.count != 1 || limit.count != 1 || delta.count != 1)
        return takt_onnx_refuse(c, "an input that is not one number");
    if (start.at[0].is_dim || delta.at[0].is_dim || delta.at[0].number != 1 ||
        start.at[0].number < 0)
        return takt_onnx_refuse(c, "a range of other numbers than whole ones up to a dimension");
    takt_dim count = limit.at[0].is_dim ? limit.at[0].dim : limit.at[0].number;
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_SUB, count, start.at[0].number, &count));
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(&count, 1)},
                                     {"dtype", takt_attr_dtype(takt_onnx_type(c, 0)->dtype)}};
    takt_id y = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
    if (start.at[0].number != 0 && y != TAKT_NONE)
        y = takt_add_scalar(c->g, y, (double)start.at[0].number);
    return takt_onnx_done(c, y);
}

static takt_status adapt(takt_call *c)
{
    const takt_array *v[3];
    for (size_t i = 0; i < 3; i++) {
        v[i] = takt_onnx_peek(c, i);
        if (v[i] == NULL || v[i]->count != 1)
            return takt_dtype_is_int(takt_onnx_type(c, 0)->dtype) && c->status == TAKT_OK
                       ? of_dimension(c)
                       : (takt_onnx_known(c, i), c->status);
    }
    return of_numbers(c, v[0], v[1], v[2]);
}

const takt_onnx_op takt_onnx_Range = {.names = {"Range"}, .adapt = adapt};
