/* unblock.c - weights in ggml's block formats become floats: ONNX has no operator for blocks.
 *
 * A parameter or constant of bytes that is read in one format only, whole or by rows, is written as
 * floats; a product with it is MatMul. Others stay nodes of domain "takt".
 */
#include "io/onnx/write/write.h"
#include "op/util/ggml.h"
#include "pass/copier.h"

enum { UNREAD = -1, OTHER = -2 };

typedef struct work {
    takt_copier c;
    int *format; /* by node: how its bytes are read */
} work;

static bool is_ggml(const takt_op *op)
{
    return op == &takt_op_ggml_matmul || op == &takt_op_ggml_matmul_i8 ||
           op == &takt_op_ggml_dequantize || op == &takt_op_ggml_rows;
}

/* In ONNX activations are not rounded. */
static bool is_product(const takt_op *op)
{
    return op == &takt_op_ggml_matmul || op == &takt_op_ggml_matmul_i8;
}

static void mark(work *w, takt_id id, int format)
{
    if (id != TAKT_NONE)
        w->format[id] = w->format[id] == UNREAD || w->format[id] == format ? format : OTHER;
}

/* In reverse order: all readers of a node are visited before it. */
static void mark_all(work *w)
{
    const takt_graph *g = w->c.in;
    for (size_t i = 0; i < g->count; i++)
        w->format[i] = UNREAD;
    for (size_t i = 0; i < g->output_count; i++)
        mark(w, g->outputs[i].id, OTHER);
    for (size_t i = 0; i < g->slot_count; i++) {
        mark(w, g->slots[i].next, OTHER);
        if (g->slots[i].next != TAKT_NONE)
            mark(w, g->slots[i].value, OTHER);
    }
    for (size_t i = g->count; i-- > 0;) {
        const takt_node *n = &g->nodes[i];
        const uint32_t bytes = is_product(n->op) ? 1 : 0;
        const bool by_rows = n->op == &takt_op_gather && takt_node_int(n, "axis") == 0 &&
                             takt_type_of(g, n->in[0])->rank > 1;
        for (uint32_t k = 0; w->c.live[i] && k < n->in_count; k++)
            mark(w, n->in[k],
                 k != bytes       ? OTHER
                 : is_ggml(n->op) ? (int)takt_ggml_of(n)
                 : by_rows        ? w->format[i]
                                  : OTHER);
    }
}

/* Converts `from` to floats; the caller releases them. */
static takt_status decode(takt_ctx *ctx, int format, const takt_tensor *from, takt_tensor *to)
{
    const takt_ggml_info *info = &takt_ggml_formats[format];
    takt_type type = from->type;
    type.dtype = TAKT_F32;
    type.dim[type.rank - 1] = type.dim[type.rank - 1] / info->bytes * info->weights;
    TAKT_TRY(takt_tensor_create(ctx, &type, to));
    takt_ggml_decode((takt_ggml_format)format, takt_tensor_data(from),
                     takt_tensor_bytes(from) / info->bytes, takt_tensor_data(to));
    return TAKT_OK;
}

/* ---- the copy ---- */

static takt_status slot(work *w, const takt_slot *s, takt_tensor *value)
{
    takt_graph *g = w->c.out;
    const takt_tensor *bytes = value != NULL && value->storage != NULL ? value
                               : s->init.kind == TAKT_INIT_TENSOR      ? s->init.tensor
                                                                       : NULL;
    takt_graph_inherit(g, &w->c.in->nodes[s->value]);
    if (w->format[s->value] < 0 || bytes == NULL) {
        w->format[s->value] = OTHER;
        w->c.map[s->value] = takt_graph_slot(g, s->name, &s->type, &s->init, s->is_trainable);
        return g->status;
    }
    takt_tensor floats = {0};
    takt_status status = decode(g->ctx, w->format[s->value], bytes, &floats);
    if (status == TAKT_OK) {
        const takt_init init = {.kind = TAKT_INIT_TENSOR, .tensor = &floats};
        w->c.map[s->value] = takt_graph_slot(g, s->name, &floats.type, &init, s->is_trainable);
        status = g->status;
    }
    takt_tensor_release(&floats);
    if (value != NULL)
        *value = (takt_tensor){0}; /* the new slot has its own */
    return status;
}

static takt_status edges(work *w, takt_tensor *values)
{
    const takt_graph *in = w->c.in;
    for (size_t i = 0; i < in->input_count; i++) {
        const takt_port *p = &in->inputs[i];
        takt_graph_inherit(w->c.out, &in->nodes[p->id]);
        w->c.map[p->id] = takt_graph_input(w->c.out, p->name, takt_type_of(in, p->id));
    }
    for (size_t i = 0; i < in->slot_count; i++)
        TAKT_TRY(slot(w, &in->slots[i], values != NULL ? &values[i] : NULL));
    return w->c.out->status;
}

static takt_status constant(work *w, takt_id id)
{
    takt_tensor floats = {0};
    takt_status status =
        decode(w->c.in->ctx, w->format[id], w->c.in->nodes[id].attr[0].tensor, &floats);
    if (status == TAKT_OK) {
        w->c.map[id] = takt_graph_constant(w->c.out, &floats);
        status = w->c.out->status;
    }
    takt_tensor_release(&floats);
    return status;
}

static takt_status node(work *w, takt_id id)
{
    takt_graph *g = w->c.out;
    const takt_node *old = &w->c.in->nodes[id];
    if (old->op == &takt_op_constant && w->format[id] >= 0)
        return constant(w, id);
    const takt_node n = takt_copier_node(&w->c, id);
    const bool multiplies = is_product(n.op);
    const bool is_float =
        is_ggml(n.op) && takt_type_of(g, n.in[multiplies ? 1 : 0])->dtype == TAKT_F32;
    takt_graph_inherit(g, old);
    const takt_named_attr axis = {"axis", takt_attr_i64(0)};
    if (is_float && multiplies)
        w->c.map[id] = takt_matmul(g, n.in[0], n.in[1], false, true);
    else if (is_float && n.op == &takt_op_ggml_rows)
        w->c.map[id] = takt_graph_call(g, &takt_op_gather, 2, n.in, 1, &axis);
    else
        w->c.map[id] = is_float ? n.in[0] : takt_graph_copy_node(g, &n, n.in);
    return g->status;
}

takt_status takt_onnx_unblock(const takt_graph *in, takt_tensor *values, takt_graph **out)
{
    work w;
    takt_status status = takt_copier_init(&w.c, in);
    if (status == TAKT_OK) {
        w.format = takt_arena_array(&w.c.arena, in->count + 1, sizeof *w.format);
        status = w.format != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    if (status == TAKT_OK) {
        mark_all(&w);
        status = edges(&w, values);
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++)
        if (w.c.live[i] && w.c.map[i] == TAKT_NONE)
            status = node(&w, (takt_id)i);
    return takt_copier_done(&w.c, status, out);
}

bool takt_onnx_has_blocks(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (is_ggml(g->nodes[i].op))
            return true;
    return false;
}
