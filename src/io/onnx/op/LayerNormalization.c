/* LayerNormalization.c - LayerNormalization and RMSNormalization from an axis to the last.
 * Exporters for onnxruntime call RMSNormalization SimplifiedLayerNormalization. */
#include "io/onnx/adapt.h"

/* The statistics used in training: mean, and 1 / standard deviation. */
static void statistics(takt_call *c, takt_id x, int axis, double epsilon)
{
    const int rank = takt_type_of(c->g, x)->rank;
    int64_t axes[TAKT_MAX_RANK];
    for (int i = axis; i < rank; i++)
        axes[i - axis] = i;
    const size_t count = (size_t)(rank - axis);
    const takt_id wide =
        takt_dtype_bits(takt_type_of(c->g, x)->dtype) < 32 ? takt_onnx_cast(c, x, TAKT_F32) : x;
    const takt_named_attr attrs[] = {{"axes", takt_attr_i64s(axes, count)},
                                     {"keep", takt_attr_bool(true)}};
    const takt_id mean = takt_onnx_op1(c, &takt_op_reduce_mean, wide, 2, attrs);
    const takt_id var = takt_onnx_op1(c, &takt_op_reduce_var, wide, 2, attrs);
    takt_onnx_set(c, 1, mean);
    if (var != TAKT_NONE)
        takt_onnx_set(c, 2, takt_unary(c->g, &takt_op_rsqrt, takt_add_scalar(c->g, var, epsilon)));
}

/* SimplifiedLayerNormalization's: 1 / root of the mean square. */
static void root(takt_call *c, takt_id x, int axis, double epsilon)
{
    const int rank = takt_type_of(c->g, x)->rank;
    int64_t axes[TAKT_MAX_RANK];
    for (int i = axis; i < rank; i++)
        axes[i - axis] = i;
    const takt_id square = takt_reduce_over(c->g, &takt_op_reduce_mean, takt_mul(c->g, x, x), axes,
                                            (size_t)(rank - axis), true);
    takt_onnx_set(c, 1,
                  square == TAKT_NONE
                      ? square
                      : takt_unary(c->g, &takt_op_rsqrt, takt_add_scalar(c->g, square, epsilon)));
}

/* scale and bias have the shape of the normalised axes, or broadcast to it. */
static takt_id whole(takt_call *c, takt_id p, const takt_type *x, int axis)
{
    return p == TAKT_NONE ? p : takt_broadcast(c->g, p, x->dim + axis, (size_t)(x->rank - axis));
}

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const takt_type t = *takt_onnx_type(c, 0);
    const bool is_rms = !takt_span_is(c->node->op, "LayerNormalization");
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", -1), t.rank);
    const double epsilon = takt_onnx_f(c, "epsilon", 1e-5f);
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"epsilon", takt_attr_f64(epsilon)}};
    if (c->status != TAKT_OK)
        return c->status;
    takt_id in[3] = {x, whole(c, takt_onnx_cast(c, takt_onnx_in(c, 1), t.dtype), &t, axis),
                     TAKT_NONE};
    size_t count = 2;
    if (!is_rms && takt_onnx_has(c, 2))
        in[count++] = whole(c, takt_onnx_cast(c, takt_onnx_in(c, 2), t.dtype), &t, axis);
    takt_onnx_set(c, 0,
                  takt_graph_call(c->g, is_rms ? &takt_op_rms_norm : &takt_op_layer_norm, count, in,
                                  2, attrs));
    if (c->out_count > 1 && c->status == TAKT_OK)
        (is_rms ? root : statistics)(c, x, axis, epsilon);
    return c->status;
}

const takt_onnx_op takt_onnx_LayerNormalization = {
    .names = {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"},
    .adapt = adapt};
