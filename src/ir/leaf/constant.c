/* constant.c - a tensor that is part of the graph. */
#include "ir/graph.h"
#include "ir/leaves.h"

enum { VALUE };

static takt_status infer(takt_infer *in)
{
    const takt_tensor *value = in->attr[VALUE].tensor;
    size_t bytes = 0;
    if (!takt_type_bytes(&value->type, &bytes)) {
        char type[TAKT_TYPE_TEXT];
        return takt_fail(in->ctx, TAKT_E_SHAPE, "constant: %s has no definite size",
                         takt_type_text(in->dims, &value->type, type));
    }
    in->out[0] = value->type;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_tensor *value = e->attr[VALUE].tensor;
    const void *data = takt_tensor_data(value);
    const takt_dtype dtype = value->type.dtype;
    takt_array *out = &e->out[0];
    for (size_t i = 0; i < out->count; i++)
        if (takt_dtype_is_float(dtype))
            out->f[i] = takt_dtype_get_f(dtype, data, i);
        else
            out->i[i] = takt_dtype_get_i(dtype, data, i);
    return TAKT_OK;
}

const takt_op takt_op_constant = {
    .name = "constant",
    .summary = "a tensor that is part of the graph",
    .attrs = {[VALUE] = {.name = "value",
                         .type = TAKT_ATTR_TENSOR,
                         .is_required = true,
                         .summary = "its elements"}},
    .traits = TAKT_PRIMITIVE | TAKT_LEAF,
    .infer = infer,
    .eval = eval,
    .no_gradient = "it has no input",
};
