/* Constant.c - Constant: a value in an attribute. */
#include "io/onnx/adapt.h"

static takt_id numbers(takt_call *c, const takt_pb_attr *a, bool is_list)
{
    if (a->type == TAKT_PB_INT || a->type == TAKT_PB_INTS) {
        if (is_list)
            return takt_onnx_i64s(c, a->ints, a->int_count);
        return takt_scalar_i64(c->g, a->i);
    }
    const int64_t dims[1] = {(int64_t)a->float_count};
    double *v = takt_onnx_get(c, a->float_count + 1, sizeof *v);
    if (v == NULL)
        return TAKT_NONE;
    v[0] = (double)a->f;
    for (size_t i = 0; is_list && i < a->float_count; i++)
        v[i] = (double)a->floats[i];
    return takt_onnx_floats(c, TAKT_F32, v, dims, is_list ? 1 : 0);
}

static takt_status adapt(takt_call *c)
{
    const takt_pb_attr *a = NULL;
    const char *const lists[] = {"value_ints", "value_floats"}, *const ones[] = {"value_int",
                                                                                 "value_float"};
    for (size_t i = 0; i < 2; i++) {
        if ((a = takt_onnx_attr(c, lists[i])) != NULL)
            return takt_onnx_done(c, numbers(c, a, true));
        if ((a = takt_onnx_attr(c, ones[i])) != NULL)
            return takt_onnx_done(c, numbers(c, a, false));
    }
    takt_tensor t;
    if ((a = takt_onnx_attr(c, "value")) != NULL && a->t != NULL)
        TAKT_TRY(takt_onnx_tensor(c->im->source, a->t, &t));
    else if ((a = takt_onnx_attr(c, "sparse_value")) != NULL && a->sparse != NULL)
        TAKT_TRY(takt_onnx_sparse(c->im->source, a->sparse, &t));
    else
        return takt_onnx_refuse(c, "it has no number in it");
    const takt_id id = takt_graph_constant(c->g, &t);
    takt_tensor_release(&t);
    return takt_onnx_done(c, id);
}

const takt_onnx_op takt_onnx_Constant = {.names = {"Constant"}, .adapt = adapt};
