/* record.c - ONNX operators that equal one of our ops, and our own ops in the domain "takt". */
#include <string.h>

#include "io/onnx/adapt.h"

const takt_op *takt_onnx_record(takt_span name, int opset)
{
    for (size_t i = 0; i < takt_op_count; i++)
        for (size_t k = 0; k < 4 && takt_ops[i]->onnx[k].name != NULL; k++) {
            const takt_onnx_name *o = &takt_ops[i]->onnx[k];
            if (takt_span_is(name, o->name) && opset >= o->since &&
                (o->until == 0 || opset <= o->until))
                return takt_ops[i];
        }
    return NULL;
}

static bool enum_of(const takt_attr_def *def, takt_span s, takt_attr *out)
{
    for (int64_t i = 0; def->names[i] != NULL; i++) {
        const char *a = def->names[i];
        size_t k = 0;
        while (k < s.length && a[k] != '\0' && (s.at[k] | 32) == (a[k] | 32))
            k++;
        if (k == s.length && a[k] == '\0') {
            *out = takt_attr_i64(i);
            return true;
        }
    }
    return false;
}

/* Attributes that ONNX lacks: a double becomes a tensor, a shape a list of numbers. */
static bool convert_own(takt_call *c, const takt_attr_def *def, const takt_pb_attr *a,
                        takt_attr *out)
{
    if (def->type == TAKT_ATTR_SHAPE) {
        for (size_t i = 0; i < a->int_count; i++)
            if (a->ints[i] < 0)
                return false;
        *out = takt_attr_shape(a->ints, a->int_count);
        return a->type == TAKT_PB_INTS;
    }
    takt_tensor value;
    if (a->type != TAKT_PB_TENSOR || a->t == NULL)
        return false;
    const takt_status status = takt_onnx_tensor(c->im->source, a->t, &value);
    if (status != TAKT_OK) {
        c->status = status == TAKT_ERR_MEMORY ? status : c->status;
        return false;
    }
    const bool fits = value.type.dtype == TAKT_F64 && takt_tensor_count(&value) == 1;
    if (fits)
        *out = takt_attr_f64(takt_dtype_get_f(TAKT_F64, takt_tensor_data(&value), 0));
    takt_tensor_release(&value);
    return fits;
}

static bool convert(takt_call *c, const takt_attr_def *def, const takt_pb_attr *a, takt_attr *out)
{
    takt_dtype dtype;
    const bool is_own = takt_span_is(c->node->domain, "takt");
    if (is_own && (def->type == TAKT_ATTR_F64 || def->type == TAKT_ATTR_SHAPE))
        return convert_own(c, def, a, out);
    switch (def->type) {
    case TAKT_ATTR_I64: *out = takt_attr_i64(a->i); return a->type == TAKT_PB_INT;
    case TAKT_ATTR_BOOL: *out = takt_attr_bool(a->i != 0); return a->type == TAKT_PB_INT;
    case TAKT_ATTR_F64: *out = takt_attr_f64((double)a->f); return a->type == TAKT_PB_FLOAT;
    case TAKT_ATTR_I64S:
        *out = takt_attr_i64s(a->ints, a->int_count);
        return a->type == TAKT_PB_INTS;
    case TAKT_ATTR_ENUM: return a->type == TAKT_PB_STRING && enum_of(def, a->s, out);
    case TAKT_ATTR_DTYPE:
        if (a->type != TAKT_PB_INT || !takt_onnx_dtype(a->i, &dtype))
            return false;
        *out = takt_attr_dtype(dtype);
        return true;
    case TAKT_ATTR_STRING:
        *out = takt_attr_string(takt_arena_text(&c->im->arena, a->s.at, a->s.length));
        return a->type == TAKT_PB_STRING && out->string != NULL;
    default: return false;
    }
}

static const takt_attr_def *definition(const takt_op *op, takt_span name, bool is_own)
{
    for (size_t i = 0; i < takt_op_attr_count(op); i++) {
        const takt_attr_def *def = &op->attrs[i];
        if (takt_span_is(name, def->onnx != NULL && !is_own ? def->onnx : def->name))
            return def;
    }
    return NULL;
}

/* Inputs of different element types are cast to the first one's, as newer versions of ONNX
 * require. */
takt_status takt_import_record(takt_call *c, const takt_op *op)
{
    takt_named_attr attrs[TAKT_MAX_ATTRS];
    size_t count = 0;
    for (size_t i = 0; i < c->node->attr_count; i++) {
        const takt_span name = c->node->attrs[i].name;
        const takt_attr_def *def = definition(op, name, takt_span_is(c->node->domain, "takt"));
        char text[64] = {0};
        if (name.length >= sizeof text)
            return takt_onnx_refuse(c, "attribute %.60s... is not understood", name.at);
        if (name.length > 0)
            memcpy(text, name.at, name.length);
        if (takt_span_is(name, "consumed_inputs"))
            continue; /* of the first opsets: a hint */
        const takt_pb_attr *a = takt_onnx_attr(c, text);
        if (a == NULL)
            continue; /* a function's attribute that its caller left out */
        if (def == NULL || count == TAKT_MAX_ATTRS)
            return takt_onnx_refuse(c, "attribute %s is not understood", text);
        if (!convert(c, def, a, &attrs[count].value))
            return takt_onnx_refuse(c, "attribute %s has a value or type that is not understood",
                                    text);
        attrs[count++].name = def->name;
    }
    takt_id *in = takt_onnx_get(c, c->in_count, sizeof *in);
    size_t in_count = c->in_count;
    for (size_t i = 0; in != NULL && i < in_count; i++)
        in[i] = takt_onnx_in(c, i);
    while (in_count > 0 && in != NULL && in[in_count - 1] == TAKT_NONE)
        in_count--;
    if (c->status != TAKT_OK || in == NULL)
        return c->status;
    const takt_id id = takt_graph_call(c->g, op, in_count, in, count, attrs);
    if (id == TAKT_NONE || takt_node_at(c->g, id)->out_count <= 1)
        return takt_onnx_done(c, id);
    for (size_t i = 0; i < c->out_count; i++)
        takt_onnx_set(c, i, takt_graph_get(c->g, id, i));
    return c->status;
}
