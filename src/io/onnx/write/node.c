/* node.c - attributes, and nodes as messages. */
#include <stdio.h>
#include <string.h>

#include "io/onnx/write/emit.h"

enum { ATTR_FLOAT = 1, ATTR_INT, ATTR_STRING, ATTR_TENSOR, ATTR_GRAPH };
enum { ATTR_FLOATS = 6, ATTR_INTS, ATTR_STRINGS };

static void end_attr(takt_emit *e, int64_t type)
{
    takt_pb_put_int(&e->item, 20, type);
    takt_pb_put_message(&e->attrs, 5, &e->item);
}

void takt_emit_i(takt_emit *e, const char *name, int64_t value)
{
    takt_pb_put_string(&e->item, 1, name);
    takt_pb_put_int(&e->item, 3, value);
    end_attr(e, ATTR_INT);
}

void takt_emit_f(takt_emit *e, const char *name, double value)
{
    takt_pb_put_string(&e->item, 1, name);
    takt_pb_put_float(&e->item, 2, (float)value);
    end_attr(e, ATTR_FLOAT);
}

void takt_emit_s(takt_emit *e, const char *name, const char *value)
{
    takt_pb_put_string(&e->item, 1, name);
    takt_pb_put_string(&e->item, 4, value);
    end_attr(e, ATTR_STRING);
}

void takt_emit_ints(takt_emit *e, const char *name, const int64_t *values, size_t count)
{
    if (count == 0)
        return;
    takt_pb_put_string(&e->item, 1, name);
    for (size_t i = 0; i < count; i++)
        takt_pb_put_int(&e->item, 8, values[i]);
    end_attr(e, ATTR_INTS);
}

void takt_emit_floats(takt_emit *e, const char *name, const double *values, size_t count)
{
    if (count == 0)
        return;
    takt_pb_put_string(&e->item, 1, name);
    for (size_t i = 0; i < count; i++)
        takt_pb_put_float(&e->item, 7, (float)values[i]);
    end_attr(e, ATTR_FLOATS);
}

void takt_emit_strings(takt_emit *e, const char *name, const char *const *values, size_t count)
{
    if (count == 0)
        return;
    takt_pb_put_string(&e->item, 1, name);
    for (size_t i = 0; i < count; i++)
        takt_pb_put_string(&e->item, 9, values[i]);
    end_attr(e, ATTR_STRINGS);
}

/* A double, which an attribute of ONNX cannot hold otherwise. */
void takt_emit_attr_tensor(takt_emit *e, const char *name, double value)
{
    uint64_t bits;
    uint8_t raw[8];
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++)
        raw[i] = (uint8_t)(bits >> 8 * i);
    takt_pb_put_int(&e->body, 2, takt_onnx_elem(TAKT_F64));
    takt_pb_put_bytes(&e->body, 9, raw, sizeof raw);
    takt_pb_put_string(&e->item, 1, name);
    takt_pb_put_message(&e->item, 5, &e->body);
    end_attr(e, ATTR_TENSOR);
}

void takt_emit_attr_graph(takt_emit *e, const char *name, takt_text *body)
{
    takt_pb_put_string(&e->item, 1, name);
    takt_pb_put_message(&e->item, 6, body);
    end_attr(e, ATTR_GRAPH);
}

/* Nodes are named after the layer or node they come from; some engines require unique names. They
 * share the table of value names, with a prefix. */
static const char *node_name(takt_emit *e, const char *op, const char *out)
{
    const takt_origin *o = e->node != NULL ? e->node->origin : NULL;
    const char *from = o != NULL && o->name[0] != '\0' ? o->name : out;
    const char *name = takt_arena_format(&e->arena, "\1%s", from);
    if (name != NULL && takt_emit_is_used(e, name))
        name = takt_arena_format(&e->arena, "\1%s/%s", from, op);
    if (name == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return "";
    }
    name = takt_emit_unique(e, name);
    return name[0] == '\1' ? name + 1 : name;
}

void takt_emit_call_many(takt_emit *e, const char *op, const char *domain, takt_emit_list out,
                         takt_emit_list in)
{
    takt_text *b = &e->body;
    while (in.count > 0 && in.at[in.count - 1][0] == '\0')
        in.count--;
    for (size_t i = 0; i < in.count; i++)
        takt_pb_put_string(b, 1, in.at[i]);
    for (size_t i = 0; i < out.count; i++)
        takt_pb_put_string(b, 2, out.at[i]);
    takt_pb_put_string(b, 3, node_name(e, op, out.at[0]));
    takt_pb_put_string(b, 4, op);
    takt_text_put(b, takt_text_get(&e->attrs), e->attrs.length);
    if (domain[0] != '\0')
        takt_pb_put_string(b, 7, domain);
    if (e->attrs.status != TAKT_OK || e->item.status != TAKT_OK)
        e->status = TAKT_ERR_MEMORY;
    e->attrs.length = 0;
    takt_pb_put_message(e->nodes, 1, b);
}

const char *takt_emit_call(takt_emit *e, const char *op, const char *out, size_t count,
                           const char *const *in)
{
    takt_emit_call_many(e, op, "", (takt_emit_list){1, &out}, (takt_emit_list){count, in});
    return out;
}

const char *takt_emit_cast(takt_emit *e, const char *out, const char *x, takt_dtype dtype)
{
    takt_emit_i(e, "to", takt_onnx_elem(dtype));
    return takt_emit_1(e, "Cast", out, x);
}

const char *takt_emit_transpose(takt_emit *e, const char *out, const char *x, const int64_t *perm,
                                int rank)
{
    takt_emit_ints(e, "perm", perm, (size_t)rank);
    return takt_emit_1(e, "Transpose", out, x);
}

const char *takt_emit_in(const takt_emit *e, size_t i)
{
    const takt_id id = i < e->node->in_count ? e->node->in[i] : TAKT_NONE;
    return id == TAKT_NONE ? "" : e->frame->names[id];
}

const takt_type *takt_emit_type(const takt_emit *e, size_t i)
{
    return takt_type_of(e->frame->g, e->node->in[i]);
}

const takt_tensor *takt_emit_constant(const takt_emit *e, size_t i)
{
    const takt_node *n = takt_node_at(e->frame->g, e->node->in[i]);
    return n->op == &takt_op_constant ? n->attr[0].tensor : NULL;
}

void takt_emit_fail(takt_emit *e, const char *format, ...)
{
    char reason[400];
    va_list args;
    if (e->status != TAKT_OK)
        return;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    const takt_origin *o = e->node != NULL ? e->node->origin : NULL;
    e->status = takt_fail(e->ctx, TAKT_E_ONNX_WRITE, "%s%s%s: %s",
                          e->node != NULL ? e->node->op->name : "the model",
                          o != NULL ? " of " : "", o != NULL ? o->name : "", reason);
}
