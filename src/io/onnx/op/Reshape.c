/* Reshape.c - Reshape: 0 keeps a dimension, -1 takes what is left. */
#include "io/onnx/adapt.h"

static takt_syms wanted(takt_call *c)
{
    if (c->opset >= 5)
        return takt_onnx_syms(c, 1);
    const takt_ints list = takt_onnx_ints(c, "shape");
    takt_sym *at = takt_onnx_get(c, list.count, sizeof *at);
    for (size_t i = 0; at != NULL && i < list.count; i++)
        at[i].number = list.at[i];
    return (takt_syms){at, list.count};
}

/* The one that was given as -1: everything divided by the others. */
static takt_status fill(takt_call *c, const takt_type *x, takt_dim *dims, size_t rank, size_t hole)
{
    takt_dim all = 1, rest = 1;
    for (int i = 0; i < x->rank; i++)
        TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, all, x->dim[i], &all));
    for (size_t i = 0; i < rank; i++)
        if (i != hole)
            TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, rest, dims[i], &rest));
    if (rest == 0)
        return takt_onnx_refuse(c, "a dimension of -1 beside one of 0");
    return takt_dim_make(c->g->dims, TAKT_DIM_FLOORDIV, all, rest, &dims[hole]);
}

static takt_status adapt(takt_call *c)
{
    const takt_type *x = takt_onnx_type(c, 0);
    const takt_syms shape = wanted(c);
    const bool keeps_zero = takt_onnx_i(c, "allowzero", 0) != 0;
    takt_dim dims[TAKT_MAX_RANK] = {0};
    size_t hole = SIZE_MAX;
    if (c->status != TAKT_OK)
        return c->status;
    if (shape.count > TAKT_MAX_RANK)
        return takt_onnx_refuse(c, "%zu dimensions", shape.count);
    for (size_t i = 0; i < shape.count; i++) {
        const takt_sym s = shape.at[i];
        if (s.is_dim)
            dims[i] = s.dim;
        else if (s.number == 0 && !keeps_zero && i < (size_t)x->rank)
            dims[i] = x->dim[i];
        else if (s.number >= 0)
            dims[i] = s.number;
        else if (s.number == -1 && hole == SIZE_MAX)
            hole = i;
        else
            return takt_onnx_refuse(c, "dimension %zu of the shape is %lld", i,
                                    (long long)s.number);
    }
    if (hole != SIZE_MAX)
        TAKT_TRY(fill(c, x, dims, shape.count, hole));
    return takt_onnx_done(c, takt_reshape(c->g, takt_onnx_in(c, 0), dims, shape.count));
}

const takt_onnx_op takt_onnx_Reshape = {.names = {"Reshape"}, .adapt = adapt};
