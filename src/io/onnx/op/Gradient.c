/* Gradient.c - Gradient of the training preview: of a value of the model with respect to earlier
 * ones. */
#include "grad/grad.h"
#include "io/onnx/adapt.h"

/* The value that the model calls `name`. */
static takt_id named(takt_call *c, takt_span name)
{
    takt_onnx_value *value = NULL;
    const takt_status status = takt_scope_use(c->scope, name, &value);
    if (status != TAKT_OK)
        c->status = status;
    else if (value == NULL || value->kind != TAKT_ONNX_TENSOR)
        (void)takt_onnx_refuse(c, "xs or y names a value that is not there");
    return c->status == TAKT_OK && value != NULL ? value->id : TAKT_NONE;
}

static takt_status adapt(takt_call *c)
{
    const takt_pb_attr *xs = takt_onnx_attr(c, "xs"), *zs = takt_onnx_attr(c, "zs");
    const takt_pb_attr *y = takt_onnx_attr(c, "y");
    if (c->status != TAKT_OK)
        return c->status;
    if (xs == NULL || y == NULL || xs->string_count > c->in_count || xs->string_count == 0)
        return takt_onnx_refuse(c, "xs or y is missing");
    const size_t count = xs->string_count, others = zs != NULL ? zs->string_count : 0;
    takt_id *ids = takt_onnx_get(c, 2 * count, sizeof *ids);
    if (ids == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count + others && i < c->in_count; i++) {
        const takt_id id = named(c, i < count ? xs->strings[i] : zs->strings[i - count]);
        if (c->status != TAKT_OK)
            return c->status;
        if (id != takt_onnx_in(c, i))
            return takt_onnx_refuse(c, "it is asked for at other values than the model's own");
        if (i < count)
            ids[i] = id;
    }
    const takt_id out = named(c, y->s);
    if (c->status != TAKT_OK)
        return c->status;
    const takt_grad_request r = {
        .out_count = 1, .out = &out, .in_count = count, .in = ids, .result = ids + count};
    TAKT_TRY(takt_grad_append(c->g, &r));
    for (size_t i = 0; i < count && i < c->out_count; i++)
        takt_onnx_set(c, i, ids[count + i]);
    return c->status;
}

const takt_onnx_op takt_onnx_Gradient = {
    .names = {"Gradient"}, .domain = "ai.onnx.preview.training", .adapt = adapt};
