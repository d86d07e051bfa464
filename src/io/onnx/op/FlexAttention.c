/* FlexAttention.c - attention whose scores and probabilities pass through subgraphs. */
#include <math.h>

#include "io/onnx/control.h"
#include "io/onnx/heads.h"

static takt_status modify(takt_call *c, const char *name, takt_id *x)
{
    if (takt_onnx_attr(c, name) == NULL)
        return TAKT_OK;
    const takt_pb_graph *graph = takt_onnx_graph(c, name);
    takt_onnx_value in = {.kind = TAKT_ONNX_TENSOR, .id = *x}, out[2] = {0};
    if (graph == NULL || graph->output_count != 1)
        return takt_onnx_refuse(c, "%s must have one result", name);
    TAKT_TRY(takt_subgraph_inline(c, graph, &in, 1, out));
    if (out[0].kind != TAKT_ONNX_TENSOR)
        return takt_onnx_refuse(c, "%s is refused", name);
    *x = out[0].id;
    return TAKT_OK;
}

static takt_status adapt(takt_call *c)
{
    takt_id q = takt_onnx_in(c, 0), k = takt_onnx_in(c, 1), v = takt_onnx_in(c, 2);
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->status != TAKT_OK || k == TAKT_NONE || v == TAKT_NONE || t.rank != 4)
        return takt_onnx_refuse(c, "inputs that are not of rank 4");
    const double scale = takt_onnx_attr(c, "scale") != NULL ? takt_onnx_f(c, "scale", 1)
                                                            : takt_heads_scale(c, t.dim[3]);
    const takt_dtype wide =
        takt_onnx_to(c, "softmax_precision", takt_dtype_bits(t.dtype) < 32 ? TAKT_F32 : t.dtype);
    q = takt_mul_scalar(c->g, q, sqrt(scale));
    k = takt_heads_repeat(c, k, t.dim[1]);
    v = takt_heads_repeat(c, v, t.dim[1]);
    if (c->status != TAKT_OK || k == TAKT_NONE || v == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    k = takt_mul_scalar(c->g, k, sqrt(scale));
    takt_id s = takt_onnx_cast(c, takt_matmul(c->g, q, k, false, true), wide);
    TAKT_TRY(modify(c, "score_mod", &s));
    s = takt_onnx_op1(c, &takt_op_softmax, s, 1, &(takt_named_attr){"axis", takt_attr_i64(3)});
    TAKT_TRY(modify(c, "prob_mod", &s));
    return takt_onnx_done(c, takt_matmul(c->g, takt_onnx_cast(c, s, t.dtype), v, false, false));
}

const takt_onnx_op takt_onnx_FlexAttention = {
    .names = {"FlexAttention"}, .domain = "ai.onnx.preview", .adapt = adapt};
