/* MsQuantized.c - com.microsoft's QLinear… operators: dequantise, compute, quantise. */
#include "base/size.h"
#include "io/onnx/spatial.h"

static takt_id opened(takt_call *c, size_t at)
{
    takt_id x = takt_onnx_in(c, at), scale = takt_onnx_in(c, at + 1),
            zero = takt_onnx_in(c, at + 2);
    if (x == TAKT_NONE || scale == TAKT_NONE)
        return TAKT_NONE;
    scale = takt_onnx_shape(c, scale, NULL, 0);
    zero = takt_onnx_shape(c, zero, NULL, 0);
    return takt_graph_call(c->g, &takt_op_dequantize, zero == TAKT_NONE ? 2 : 3,
                           (takt_id[]){x, scale, zero}, 0, NULL);
}

static takt_status closed(takt_call *c, takt_id y, size_t at)
{
    takt_id scale = takt_onnx_in(c, at), zero = takt_onnx_in(c, at + 1);
    if (y == TAKT_NONE || scale == TAKT_NONE)
        return takt_onnx_refuse(c, "an input is missing");
    const takt_dtype to = zero == TAKT_NONE ? TAKT_U8 : takt_type_of(c->g, zero)->dtype;
    const takt_named_attr attr = {"dtype", takt_attr_dtype(to)};
    scale = takt_onnx_shape(c, scale, NULL, 0);
    zero = takt_onnx_shape(c, zero, NULL, 0);
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_quantize, zero == TAKT_NONE ? 2 : 3,
                                             (takt_id[]){y, scale, zero}, 1, &attr));
}

static takt_status concat(takt_call *c)
{
    takt_id *parts = takt_onnx_get(c, c->in_count, sizeof *parts);
    size_t count = 0;
    for (size_t i = 2; parts != NULL && i + 2 < c->in_count; i += 3) {
        parts[count] = opened(c, i);
        if (parts[count++] == TAKT_NONE)
            return takt_onnx_refuse(c, "an input is missing");
    }
    if (parts == NULL || count == 0)
        return takt_onnx_refuse(c, "no inputs");
    return closed(c, takt_concat(c->g, parts, count, takt_onnx_i(c, "axis", 0)), 0);
}

static takt_status average(takt_call *c)
{
    return closed(c, takt_unary(c->g, &takt_op_global_avg_pool, opened(c, 0)), 3);
}

static takt_status pool(takt_call *c)
{
    const takt_ints kernel = takt_onnx_ints(c, "kernel_shape");
    const takt_type *x = takt_onnx_type(c, 0);
    takt_spatial s;
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(takt_spatial_read(c, x, kernel.at, kernel.count, &s));
    const takt_named_attr attrs[] = {
        {"kernel", takt_attr_i64s(s.kernel, s.count)},
        {"stride", takt_attr_i64s(s.stride, s.count)},
        {"pad", takt_attr_i64s(s.pad, 2 * s.count)},
        {"ceil", takt_attr_bool(takt_onnx_i(c, "ceil_mode", 0) != 0)},
        {"count_pad", takt_attr_bool(takt_onnx_i(c, "count_include_pad", 0) != 0)}};
    return closed(c, takt_onnx_op1(c, &takt_op_avg_pool, opened(c, 0), 5, attrs), 3);
}

/* Up to opset 12 one softmax over all axes from `axis` on. */
static takt_status softmax(takt_call *c)
{
    const takt_id x = opened(c, 0);
    const takt_type t = *takt_onnx_type(c, 0);
    if (x == TAKT_NONE || c->status != TAKT_OK)
        return closed(c, x, 3);
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", -1), t.rank);
    const bool is_old = takt_onnx_i(c, "opset", 13) < 13 && axis + 1 < t.rank;
    takt_dim rest = 1;
    for (int i = axis; i < t.rank; i++)
        if (rest >= 0 && (!takt_dim_is_number(t.dim[i]) || !takt_i64_mul(rest, t.dim[i], &rest)))
            rest = -1;
    if (is_old && rest < 0)
        return takt_onnx_refuse(c, "a softmax over axes whose size is not known");
    takt_dim dims[TAKT_MAX_RANK];
    for (int i = 0; i < axis; i++)
        dims[i] = t.dim[i];
    dims[axis] = rest;
    takt_id y = is_old ? takt_reshape(c->g, x, dims, (size_t)axis + 1) : x;
    y = takt_onnx_op1(c, &takt_op_softmax, y, 1, &(takt_named_attr){"axis", takt_attr_i64(axis)});
    if (is_old && y != TAKT_NONE)
        y = takt_reshape(c->g, y, t.dim, (size_t)t.rank);
    return closed(c, y, 3);
}

static takt_status mean(takt_call *c)
{
    const takt_ints axes = takt_onnx_ints(c, "axes");
    const takt_id x = opened(c, 0);
    if (x == TAKT_NONE)
        return closed(c, x, 3);
    return closed(c,
                  takt_reduce_over(c->g, &takt_op_reduce_mean, x, axes.at, axes.count,
                                   takt_onnx_i(c, "keepdims", 1) != 0),
                  3);
}

static takt_status where(takt_call *c)
{
    const takt_id x = opened(c, 1), y = opened(c, 4), condition = takt_onnx_in(c, 0);
    if (x == TAKT_NONE || y == TAKT_NONE || condition == TAKT_NONE)
        return takt_onnx_refuse(c, "an input is missing");
    return closed(c, takt_select(c->g, condition, x, y), 7);
}

static takt_status adapt(takt_call *c)
{
    const takt_span op = c->node->op;
    if (takt_span_is(op, "QLinearConcat"))
        return concat(c);
    if (takt_span_is(op, "QLinearGlobalAveragePool"))
        return takt_spatial_either(c, average);
    if (takt_span_is(op, "QLinearAveragePool"))
        return takt_spatial_either(c, pool);
    if (takt_span_is(op, "QLinearSoftmax"))
        return softmax(c);
    if (takt_span_is(op, "QLinearReduceMean"))
        return mean(c);
    if (takt_span_is(op, "QLinearWhere"))
        return where(c);
    if (takt_span_is(op, "QLinearSigmoid"))
        return closed(c, takt_unary(c->g, &takt_op_sigmoid, opened(c, 0)), 3);
    if (takt_span_is(op, "QLinearLeakyRelu")) {
        const takt_named_attr slope = {"slope", takt_attr_f64(takt_onnx_f(c, "alpha", 0.01f))};
        return closed(c, takt_onnx_op1(c, &takt_op_leaky_relu, opened(c, 0), 1, &slope), 3);
    }
    const takt_op *binary = takt_span_is(op, "QLinearMul") ? &takt_op_mul : &takt_op_add;
    return closed(c, takt_binary(c->g, binary, opened(c, 0), opened(c, 3)), 6);
}

const takt_onnx_op takt_onnx_MsQuantized = {
    .names = {"QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearGlobalAveragePool",
              "QLinearAveragePool", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax",
              "QLinearReduceMean", "QLinearWhere"},
    .domain = "com.microsoft",
    .adapt = adapt};
