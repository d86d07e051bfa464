/* MsFused.c - com.microsoft's Gelu, FastGelu, BiasGelu, QuickGelu, SkipLayerNormalization,
 * FusedMatMul, FusedGemm and similar fusions that optimisers make. */
#include "io/onnx/adapt.h"

static takt_id gelu(takt_call *c, takt_id x, bool is_fast)
{
    return takt_onnx_op1(c, &takt_op_gelu, x, 1,
                         &(takt_named_attr){"approximate", takt_attr_i64(is_fast ? 1 : 0)});
}

static takt_status skip_norm(takt_call *c, bool is_rms)
{
    takt_id sum = takt_add(c->g, takt_onnx_in(c, 0), takt_onnx_in(c, 1));
    const size_t bias = is_rms ? 3 : 4;
    if (takt_onnx_has(c, bias))
        sum = takt_add(c->g, sum, takt_onnx_in(c, bias));
    if (sum == TAKT_NONE)
        return takt_onnx_refuse(c, "an input is missing");
    const takt_named_attr attrs[] = {
        {"axis", takt_attr_i64(-1)},
        {"epsilon", takt_attr_f64(takt_onnx_f(c, "epsilon", is_rms ? 1e-6f : 1e-12f))}};
    takt_id in[3] = {sum, takt_onnx_in(c, 2), is_rms ? TAKT_NONE : takt_onnx_in(c, 3)};
    takt_onnx_set(c, 3, sum);
    return takt_onnx_done(c, takt_graph_call(c->g, is_rms ? &takt_op_rms_norm : &takt_op_layer_norm,
                                             in[2] == TAKT_NONE ? 2 : 3, in, 2, attrs));
}

static takt_status fused_matmul(takt_call *c)
{
    if (takt_onnx_i(c, "transBatchA", 0) != 0 || takt_onnx_i(c, "transBatchB", 0) != 0)
        return takt_onnx_refuse(c, "transposed batches");
    const takt_id y =
        takt_matmul(c->g, takt_onnx_in(c, 0), takt_onnx_in(c, 1), takt_onnx_i(c, "transA", 0) != 0,
                    takt_onnx_i(c, "transB", 0) != 0);
    const double alpha = takt_onnx_f(c, "alpha", 1);
    return takt_onnx_done(c, alpha == 1 || y == TAKT_NONE ? y : takt_mul_scalar(c->g, y, alpha));
}

static takt_status fused_gemm(takt_call *c)
{
    static const char *const names[] = {"", "Relu", "Tanh", "Sigmoid", "LeakyRelu", NULL};
    static const takt_op *const ops[] = {NULL, &takt_op_relu, &takt_op_tanh, &takt_op_sigmoid};
    const int which = takt_onnx_choice(c, "activation", "", names);
    const double alpha = takt_onnx_f(c, "alpha", 1), beta = takt_onnx_f(c, "beta", 1);
    takt_id y = takt_matmul(c->g, takt_onnx_in(c, 0), takt_onnx_in(c, 1),
                            takt_onnx_i(c, "transA", 0) != 0, takt_onnx_i(c, "transB", 0) != 0);
    if (y == TAKT_NONE || c->status != TAKT_OK)
        return takt_onnx_done(c, y);
    y = alpha == 1 ? y : takt_mul_scalar(c->g, y, alpha);
    if (takt_onnx_has(c, 2)) {
        const takt_id added = takt_onnx_in(c, 2);
        y = takt_add(c->g, y, beta == 1 ? added : takt_mul_scalar(c->g, added, beta));
    }
    if (which == 0 || y == TAKT_NONE)
        return takt_onnx_done(c, y);
    if (which < 4)
        return takt_onnx_done(c, takt_unary(c->g, ops[which], y));
    const takt_named_attr slope = {"slope",
                                   takt_attr_f64(takt_onnx_f(c, "activation_alpha", 0.01f))};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_leaky_relu, y, 1, &slope));
}

static takt_status adapt(takt_call *c)
{
    const takt_span op = c->node->op;
    takt_id x = takt_onnx_in(c, 0);
    if (takt_span_is(op, "SkipLayerNormalization"))
        return skip_norm(c, false);
    if (takt_span_is(op, "SkipSimplifiedLayerNormalization"))
        return skip_norm(c, true);
    if (takt_span_is(op, "FusedMatMul"))
        return fused_matmul(c);
    if (takt_span_is(op, "FusedGemm"))
        return fused_gemm(c);
    if (takt_span_is(op, "QuickGelu")) {
        if (x == TAKT_NONE)
            return takt_onnx_refuse(c, "the input is missing");
        const takt_id scaled = takt_mul_scalar(c->g, x, takt_onnx_f(c, "alpha", 1.702f));
        return takt_onnx_done(c, takt_mul(c->g, x, takt_unary(c->g, &takt_op_sigmoid, scaled)));
    }
    if (takt_onnx_has(c, 1))
        x = takt_add(c->g, x, takt_onnx_in(c, 1));
    return takt_onnx_done(c, gelu(c, x, takt_span_is(op, "FastGelu")));
}

const takt_onnx_op takt_onnx_MsFused = {
    .names = {"Gelu", "FastGelu", "BiasGelu", "QuickGelu", "SkipLayerNormalization",
              "SkipSimplifiedLayerNormalization", "FusedMatMul", "FusedGemm"},
    .domain = "com.microsoft",
    .adapt = adapt};
