/* scales.c - quantised layers as floats between dequantize and quantize, with the scales of the
 * file: which a writer needs to put the same integers into another file.
 *
 * Operators that only move elements keep their integers. */
#include <string.h>

#include "io/tflite/quant.h"

static const char *const layers[] = {
    "ADD",
    "SUB",
    "MUL",
    "AVERAGE_POOL_2D",
    "MAX_POOL_2D",
    "CONV_2D",
    "LEAKY_RELU",
    "HARD_SWISH",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "SOFTMAX",
    "LOGISTIC",
    "TANH",
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "MEAN",
    "CONCATENATION",
    "QUANTIZE",
    "DEQUANTIZE",
};

static bool is_layer(const char *name)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strcmp(layers[i], name) == 0)
            return true;
    return false;
}

/* Integers that stand for real numbers; constants may have fewer bits. */
static bool is_scaled(const takt_tfl_import *im, const takt_tfl_tensor *t)
{
    return takt_tfl_is_quantised(t) ||
           (t->scale_count > 0 && (t->type == TAKT_TFL_INT4 || t->type == TAKT_TFL_INT2) &&
            takt_tfl_is_constant(im, t));
}

static const takt_tfl_tensor *file_tensor(const takt_tfl_call *c, int32_t index)
{
    return &c->scope->graph->tensors[index];
}

/* A tensor with a scale for each channel is a constant. */
static bool is_simple(const takt_tfl_call *c, const takt_tfl_tensor *t)
{
    return !t->is_odd && (t->scale_count <= 1 || takt_tfl_is_constant(c->im, t));
}

/* The tensors of the file as if all quantised ones held floats; NULL: no memory. */
static const takt_tfl_tensor *as_floats(takt_tfl_scope *s)
{
    const size_t count = s->graph->tensor_count;
    if (s->floats != NULL)
        return s->floats;
    s->floats = takt_arena_array(&s->im->arena, count + 1, sizeof *s->floats);
    for (size_t i = 0; s->floats != NULL && i < count; i++) {
        s->floats[i] = s->graph->tensors[i];
        if (!is_scaled(s->im, &s->floats[i]))
            continue;
        s->floats[i].type = TAKT_TFL_FLOAT32;
        s->floats[i].scale_count = s->floats[i].zero_count = 0;
    }
    return s->floats;
}

void takt_tfl_keep_scales(takt_tfl_call *c)
{
    bool has_scales = false;
    if (!c->im->source->keep_scales || !is_layer(c->name))
        return;
    for (size_t i = 0; i < c->op->input_count + c->op->output_count; i++) {
        const int32_t index =
            i < c->op->input_count ? c->op->inputs[i] : c->op->outputs[i - c->op->input_count];
        if (index < 0)
            continue;
        if (!is_simple(c, file_tensor(c, index)))
            return;
        has_scales = has_scales || is_scaled(c->im, file_tensor(c, index));
    }
    if (!has_scales)
        return;
    c->floats = as_floats(c->scope);
    if (c->floats == NULL)
        c->status = TAKT_ERR_MEMORY;
}

/* ---- inputs ---- */

static takt_id dequantised(takt_tfl_call *c, takt_id x, const double *scale, size_t count, int axis)
{
    const int64_t dim = (int64_t)count;
    const takt_id in[] = {x, takt_tfl_make_f(c, TAKT_F32, scale, &dim, count > 1 ? 1 : 0)};
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    return takt_tfl_good(c) ? takt_graph_call(c->g, &takt_op_dequantize, 2, in, 1, &attr)
                            : TAKT_NONE;
}

/* Weights with a scale for each entry of an axis, around 0. */
static takt_id by_channel(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *t)
{
    const takt_type type = *takt_type_of(c->g, x);
    const int axis = takt_tfl_axis(c, t->axis, type.rank);
    double *scale = takt_tfl_get(c, t->scale_count, sizeof *scale);
    if (scale == NULL || !takt_tfl_good(c))
        return TAKT_NONE;
    if (type.dim[axis] != (int64_t)t->scale_count) {
        c->status = takt_flat_fail(c->flat, t->at, "tensor %.*s has %zu scales for %lld channels",
                                   (int)t->name.length, t->name.at, t->scale_count,
                                   (long long)type.dim[axis]);
        return TAKT_NONE;
    }
    for (size_t i = 0; i < t->scale_count; i++)
        scale[i] = (double)takt_tfl_scale_at(c, t, i);
    return dequantised(c, x, scale, t->scale_count, axis);
}

/* The bias of a layer is in units of both scales, whatever its own are. */
static bool is_bias(const takt_tfl_call *c, size_t i)
{
    if (i != 2 || !takt_tfl_has(c, 2) || !takt_tfl_has(c, 0) || !takt_tfl_has(c, 1))
        return false;
    const takt_tfl_dtype type = file_tensor(c, c->op->inputs[2])->type;
    return (type == TAKT_TFL_INT32 || type == TAKT_TFL_INT64) &&
           takt_tfl_is_quantised(file_tensor(c, c->op->inputs[0]));
}

static takt_id bias(takt_tfl_call *c, takt_id x)
{
    const takt_tfl_tensor *tx = file_tensor(c, c->op->inputs[0]),
                          *tw = file_tensor(c, c->op->inputs[1]);
    const size_t count = tw->scale_count > 1 ? tw->scale_count : 1;
    const takt_type *type = takt_type_of(c->g, x);
    double *scale = takt_tfl_get(c, count, sizeof *scale);
    if (scale == NULL || !takt_tfl_good(c))
        return TAKT_NONE;
    if (count > 1 && (type->rank != 1 || type->dim[0] != (int64_t)count)) {
        (void)takt_tfl_refuse(c, "a bias that does not fit its %zu channels", count);
        return TAKT_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        const float both = takt_tfl_scale_at(c, tx, 0) * takt_tfl_scale_at(c, tw, i);
        scale[i] = (double)both;
    }
    return dequantised(c, x, scale, count, 0);
}

takt_id takt_tfl_kept_in(takt_tfl_call *c, size_t i, takt_id id)
{
    const takt_tfl_tensor *t = file_tensor(c, c->op->inputs[i]);
    if (c->floats == NULL || id == TAKT_NONE)
        return id;
    if (is_bias(c, i))
        return bias(c, id);
    if (!is_scaled(c->im, t))
        return id;
    return t->scale_count > 1 ? by_channel(c, id, t) : takt_tfl_dequantise(c, id, t);
}

/* ---- results ---- */

takt_id takt_tfl_kept_out(takt_tfl_call *c, size_t i, takt_id id)
{
    const takt_tfl_tensor *t = file_tensor(c, c->op->outputs[i]);
    if (c->floats == NULL || id == TAKT_NONE || !takt_tfl_is_quantised(t))
        return id;
    const takt_tfl_quant q = takt_tfl_quant_of(c, t);
    const takt_dtype dtype = takt_tfl_dtype_of(t->type);
    const takt_id in[] = {id, takt_tfl_number(c, TAKT_F32, (double)q.scale),
                          takt_tfl_number(c, dtype, q.zero)};
    const takt_named_attr attr = {"dtype", takt_attr_dtype(dtype)};
    return takt_tfl_good(c) ? takt_graph_call(c->g, &takt_op_quantize, 3, in, 1, &attr) : TAKT_NONE;
}
