/* Constant.c - Constant: a value in an attribute. */
#include "io/onnx/adapt.h"

static takt_id numbers(takt_call *c, const takt_pb_attr *a, takt_pb_attr_type type)
{
    if (type == TAKT_PB_INTS)
        return takt_onnx_i64s(c, a->ints, a->int_count);
    if (type == TAKT_PB_INT)
        return takt_scalar_i64(c->g, a->i);
    if (type == TAKT_PB_FLOAT)
        return takt_onnx_scalar(c, TAKT_F32, (double)a->f);
    const int64_t dims[1] = {(int64_t)a->float_count};
    double *v = takt_onnx_get(c, a->float_count, sizeof *v);
    for (size_t i = 0; v != NULL && i < a->float_count; i++)
        v[i] = (double)a->floats[i];
    return v != NULL ? takt_onnx_floats(c, TAKT_F32, v, dims, 1) : TAKT_NONE;
}

static takt_status adapt(takt_call *c)
{
    static const struct {
        const char *name;
        takt_pb_attr_type type;
    } kinds[] = {{"value_ints", TAKT_PB_INTS},
                 {"value_int", TAKT_PB_INT},
                 {"value_floats", TAKT_PB_FLOATS},
                 {"value_float", TAKT_PB_FLOAT}};
    const takt_pb_attr *a = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if ((a = takt_onnx_attr(c, kinds[i].name)) == NULL)
            continue;
        if (a->type != (int64_t)kinds[i].type && a->type != TAKT_PB_UNDEFINED)
            return takt_onnx_refuse(c, "%s has the wrong type", kinds[i].name);
        return takt_onnx_done(c, numbers(c, a, kinds[i].type));
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
