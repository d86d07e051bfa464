/* Dropout.c - Dropout: after training nothing is dropped; in training mode by random numbers. */
#include "io/onnx/random.h"

static takt_status drop(takt_call *c, double rate)
{
    takt_id in[4] = {takt_onnx_in(c, 0)};
    takt_named_attr attrs[2];
    TAKT_TRY(takt_onnx_random(c, in + 1, &attrs[0]));
    attrs[1] = (takt_named_attr){"rate", takt_attr_f64(rate)};
    const takt_id id = takt_graph_call(c->g, &takt_op_dropout, 4, in, 2, attrs);
    if (id == TAKT_NONE)
        return takt_onnx_done(c, id);
    takt_onnx_set(c, 0, takt_graph_get(c->g, id, 0));
    takt_onnx_set(c, 1, takt_graph_get(c->g, id, 1));
    return c->status;
}

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const takt_type *t = takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (takt_onnx_has(c, 2)) {
        const double rate = takt_onnx_known_f(c, 1, 0.5);
        if (takt_onnx_known_i(c, 2, 0) != 0 && rate != 0)
            return drop(c, rate);
    }
    takt_onnx_set(c, 0, x);
    const takt_id yes = takt_onnx_scalar(c, c->opset >= 10 ? TAKT_BOOL : t->dtype, 1);
    takt_onnx_set(c, 1, takt_broadcast(c->g, yes, t->dim, (size_t)t->rank));
    return c->status;
}

const takt_onnx_op takt_onnx_Dropout = {.names = {"Dropout"}, .adapt = adapt};
