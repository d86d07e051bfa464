/* Optional.c - optional values: presence is decided during import. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const bool has = takt_onnx_has(c, 0) && c->in[0]->kind != TAKT_ONNX_NOTHING;
    if (takt_span_is(c->node->op, "OptionalHasElement"))
        return takt_onnx_done(c, takt_onnx_scalar(c, TAKT_BOOL, has));
    if (takt_span_is(c->node->op, "Optional") && !takt_onnx_has(c, 0)) {
        c->out[0].kind = TAKT_ONNX_NOTHING;
        return TAKT_OK;
    }
    if (!has)
        return takt_onnx_refuse(c, "the optional holds nothing");
    c->out[0] = *c->in[0];
    return TAKT_OK;
}

const takt_onnx_op takt_onnx_Optional = {
    .names = {"Optional", "OptionalHasElement", "OptionalGetElement"}, .adapt = adapt};
