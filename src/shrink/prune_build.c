/* prune_build.c - the graph without the removed channels: leaves are cut, sizes follow. */
#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "op/util/conv.h"
#include "pass/copier.h"
#include "shrink/prune.h"

typedef struct work {
    takt_pruning *p;
    takt_copier c;
} work;

static bool stays(takt_pruning *p, takt_axis_ref at, uint32_t index)
{
    const uint32_t unit = takt_groups_unit(&p->sets, at, index);
    return unit == UINT32_MAX || !p->is_gone[unit];
}

static takt_dim size_after(takt_pruning *p, takt_axis_ref at)
{
    const takt_dim size = p->model->graph->nodes[at.node].type->dim[at.axis];
    if (!takt_groups_is_active(&p->sets, at))
        return size;
    takt_dim count = 0;
    for (takt_dim i = 0; i < size; i++)
        count += stays(p, at, (uint32_t)i);
    return count;
}

/* ---- leaves ---- */

const takt_tensor *takt_prune_value(const takt_pruning *p, takt_id id)
{
    const takt_graph *g = p->model->graph;
    if (g->nodes[id].op == &takt_op_constant)
        return g->nodes[id].attr[0].tensor;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].value == id)
            return p->model->slots[i].storage != NULL ? &p->model->slots[i] : NULL;
    return NULL;
}

static takt_type type_after(takt_pruning *p, takt_id id)
{
    takt_type type = *p->model->graph->nodes[id].type;
    for (int d = 0; d < type.rank; d++)
        type.dim[d] = size_after(p, (takt_axis_ref){id, d});
    return type;
}

static void copy_element(takt_dtype dtype, const void *from, size_t i, void *to, size_t j)
{
    if (takt_dtype_is_float(dtype))
        takt_dtype_put_f(dtype, to, j, takt_dtype_get_f(dtype, from, i));
    else
        takt_dtype_put_i(dtype, to, j, takt_dtype_get_i(dtype, from, i));
}

/* The elements whose index is kept along every axis. */
static takt_status cut(takt_pruning *p, takt_id id, const takt_tensor *from, takt_tensor *to)
{
    const takt_type *old = &from->type, type = type_after(p, id);
    int64_t at[TAKT_MAX_RANK] = {0};
    size_t next = 0;
    TAKT_TRY(takt_tensor_create(p->ctx, &type, to));
    for (size_t i = 0; i < takt_tensor_count(from); i++) {
        bool is_kept = true;
        for (int d = 0; d < old->rank && is_kept; d++)
            is_kept = stays(p, (takt_axis_ref){id, d}, (uint32_t)at[d]);
        if (is_kept)
            copy_element(old->dtype, takt_tensor_data(from), i, takt_tensor_data(to), next++);
        for (int d = old->rank - 1; d >= 0 && ++at[d] == old->dim[d]; d--)
            at[d] = 0;
    }
    return TAKT_OK;
}

static bool is_cut(takt_pruning *p, takt_id id)
{
    const takt_type *type = p->model->graph->nodes[id].type;
    for (int d = 0; d < type->rank; d++)
        if (size_after(p, (takt_axis_ref){id, d}) != type->dim[d])
            return true;
    return false;
}

static takt_status leaves(work *w)
{
    const takt_graph *in = w->c.in;
    for (size_t i = 0; i < in->input_count; i++) {
        takt_graph_inherit(w->c.out, &in->nodes[in->inputs[i].id]);
        w->c.map[in->inputs[i].id] =
            takt_graph_input(w->c.out, in->inputs[i].name, takt_type_of(in, in->inputs[i].id));
    }
    for (size_t i = 0; i < in->slot_count; i++) {
        const takt_slot *s = &in->slots[i];
        takt_init init = s->init;
        takt_tensor t = {0};
        const takt_tensor *value = takt_prune_value(w->p, s->value);
        const takt_type type = type_after(w->p, s->value);
        if (value != NULL && is_cut(w->p, s->value)) {
            TAKT_TRY(cut(w->p, s->value, value, &t));
            init = (takt_init){.kind = TAKT_INIT_TENSOR, .tensor = &t};
        }
        takt_graph_inherit(w->c.out, &in->nodes[s->value]);
        w->c.map[s->value] = takt_graph_slot(w->c.out, s->name, &type, &init, s->is_trainable);
        takt_tensor_release(&t);
    }
    return w->c.out->status;
}

static takt_id constant(work *w, takt_id id)
{
    takt_tensor t;
    if (!is_cut(w->p, id))
        return takt_graph_constant(w->c.out, takt_prune_value(w->p, id));
    const takt_status status = cut(w->p, id, takt_prune_value(w->p, id), &t);
    if (status != TAKT_OK)
        return takt_graph_fail(w->c.out, status);
    const takt_id made = takt_graph_constant(w->c.out, &t);
    takt_tensor_release(&t);
    return made;
}

/* ---- nodes ---- */

/* Sizes and counts of channels that are attributes. */
static void follow(work *w, takt_id id, const takt_node *n, takt_attr *attrs, takt_dim *room)
{
    const int shape = takt_op_attr_index(n->op, "shape");
    if (shape >= 0 && attrs[shape].is_set && n->op->attrs[shape].type == TAKT_ATTR_SHAPE &&
        attrs[shape].count == (uint32_t)n->type->rank) {
        for (int d = 0; d < n->type->rank; d++)
            room[d] = takt_groups_is_active(&w->p->sets, (takt_axis_ref){id, d})
                          ? size_after(w->p, (takt_axis_ref){id, d})
                          : attrs[shape].dims[d];
        attrs[shape].dims = room;
    }
    const takt_id old_w = w->c.in->nodes[id].in_count > 1 ? w->c.in->nodes[id].in[1] : TAKT_NONE;
    if (n->op == &takt_op_conv && attrs[TAKT_CONV_GROUPS].i64 > 1) {
        const bool nhwc = attrs[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
        const takt_type *weights = takt_type_of(w->c.in, old_w),
                        *x = takt_type_of(w->c.out, n->in[0]);
        if (weights->dim[nhwc ? weights->rank - 1 : 1] == 1)
            attrs[TAKT_CONV_GROUPS].i64 = x->dim[nhwc ? x->rank - 1 : 1];
    }
    if (n->op == &takt_op_attention) {
        const int heads = takt_op_attr_index(n->op, "heads");
        const int kv = takt_op_attr_index(n->op, "kv_heads");
        const takt_type *before = takt_type_of(w->c.in, w->c.in->nodes[id].in[0]);
        const takt_type *after = takt_type_of(w->c.out, n->in[0]);
        const takt_dim width = before->dim[before->rank - 1] / attrs[heads].i64;
        attrs[heads].i64 = after->dim[after->rank - 1] / width;
        if (attrs[kv].i64 != 0)
            attrs[kv].i64 = attrs[heads].i64;
    }
}

static takt_id copy(work *w, takt_id id)
{
    const takt_node n = takt_copier_node(&w->c, id);
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_dim room[TAKT_MAX_RANK];
    if (n.op == &takt_op_constant)
        return constant(w, id);
    takt_node_attrs(&n, attrs);
    follow(w, id, &n, attrs, room);
    return takt_graph_append(w->c.out, n.op, n.in_count, n.in, attrs);
}

takt_status takt_prune_build(takt_pruning *p)
{
    work w = {.p = p};
    const takt_graph *g = p->model->graph;
    takt_status status = takt_copier_init(&w.c, g);
    if (status == TAKT_OK)
        status = leaves(&w);
    for (size_t i = 0; status == TAKT_OK && i < g->count; i++) {
        if (!w.c.live[i] || w.c.map[i] != TAKT_NONE)
            continue;
        w.c.map[i] = copy(&w, (takt_id)i);
        status = w.c.out->status;
    }
    return takt_copier_done(&w.c, status, &p->pruned);
}
