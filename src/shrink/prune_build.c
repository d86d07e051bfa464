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
    size_t first; /* node i of the graph or body has the number first + i (groups.h) */
} work;

/* Room for attributes that change. */
typedef struct changed {
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_dim shape[TAKT_MAX_RANK];
    int64_t start[TAKT_MAX_RANK], stop[TAKT_MAX_RANK];
} changed;

static bool stays(takt_pruning *p, takt_axis_ref at, uint32_t index)
{
    const uint32_t unit = takt_groups_unit(&p->sets, at, index);
    return unit == UINT32_MAX || !p->is_gone[unit];
}

static takt_dim size_after(takt_pruning *p, takt_axis_ref at)
{
    const takt_dim size = p->sets.nodes[at.node].type->dim[at.axis];
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
    const takt_node *n = p->sets.nodes != NULL ? &p->sets.nodes[id] : &g->nodes[id];
    if (n->op == &takt_op_constant)
        return n->attr[0].tensor;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].value == id)
            return p->model->slots[i].storage != NULL ? &p->model->slots[i] : NULL;
    return NULL;
}

static takt_type type_after(takt_pruning *p, takt_id id)
{
    takt_type type = *p->sets.nodes[id].type;
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
    const takt_type *type = p->sets.nodes[id].type;
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

static uint32_t kept_within(takt_pruning *p, takt_axis_ref at, int64_t first, int64_t count)
{
    uint32_t kept = 0;
    for (int64_t i = first; i < first + count; i++)
        kept += stays(p, at, (uint32_t)i);
    return kept;
}

/* Indices of the first and last element shift by the number of elements removed before them. */
static void follow_slice(work *w, takt_id id, const takt_node *n, changed *to)
{
    const takt_attr *start = takt_node_attr(n, "start"), *axes = takt_node_attr(n, "axes");
    const takt_id x = w->p->sets.nodes[id].in[0];
    const int rank = n->type->rank;
    for (uint32_t i = 0; i < start->count; i++) {
        const int axis = axes->count == 0 ? (int)i : (int)((axes->i64s[i] + rank) % rank);
        const takt_axis_ref at = {x, axis};
        const takt_dim size = w->p->sets.nodes[x].type->dim[axis];
        to->start[i] = start->i64s[i];
        to->stop[i] = takt_node_attr(n, "stop")->i64s[i];
        if (!takt_groups_is_active(&w->p->sets, at) || !takt_dim_is_number(size))
            continue;
        const takt_slice_part part = takt_groups_slice_part(n, axis, size);
        if (part.step != 1)
            continue;
        to->start[i] = kept_within(w->p, at, 0, part.first);
        to->stop[i] = to->start[i] + kept_within(w->p, at, part.first, part.count);
    }
    to->attrs[takt_op_attr_index(n->op, "start")].i64s = to->start;
    to->attrs[takt_op_attr_index(n->op, "stop")].i64s = to->stop;
}

static void follow_heads(work *w, takt_id id, const takt_node *n, takt_attr *attrs)
{
    const int heads = takt_op_attr_index(n->op, "heads");
    const int kv = takt_op_attr_index(n->op, "kv_heads");
    const takt_type *before = w->p->sets.nodes[w->p->sets.nodes[id].in[0]].type;
    const takt_type *after = takt_type_of(w->c.out, n->in[0]);
    const takt_dim width = before->dim[before->rank - 1] / attrs[heads].i64;
    attrs[heads].i64 = after->dim[after->rank - 1] / width;
    if (attrs[kv].i64 != 0)
        attrs[kv].i64 = attrs[heads].i64;
}

/* Sizes and counts of channels that are attributes. `id` is the node's number in the groups. */
static void follow(work *w, takt_id id, const takt_node *n, changed *to)
{
    takt_attr *attrs = to->attrs;
    const int shape = takt_op_attr_index(n->op, "shape");
    if (shape >= 0 && attrs[shape].is_set && n->op->attrs[shape].type == TAKT_ATTR_SHAPE &&
        attrs[shape].count == (uint32_t)n->type->rank) {
        for (int d = 0; d < n->type->rank; d++)
            to->shape[d] = takt_groups_is_active(&w->p->sets, (takt_axis_ref){id, d})
                               ? size_after(w->p, (takt_axis_ref){id, d})
                               : attrs[shape].dims[d];
        attrs[shape].dims = to->shape;
    }
    if (n->op == &takt_op_conv && attrs[TAKT_CONV_GROUPS].i64 > 1) {
        const bool nhwc = attrs[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
        const takt_type *weights = w->p->sets.nodes[w->p->sets.nodes[id].in[1]].type,
                        *x = takt_type_of(w->c.out, n->in[0]);
        if (weights->dim[nhwc ? weights->rank - 1 : 1] == 1)
            attrs[TAKT_CONV_GROUPS].i64 = x->dim[nhwc ? x->rank - 1 : 1];
    }
    if (n->op == &takt_op_attention)
        follow_heads(w, id, n, attrs);
    if (n->op == &takt_op_slice)
        follow_slice(w, id, n, to);
}

static takt_status build_body(takt_pruning *p, const takt_group_body *body, takt_graph **out);

static takt_id copy(work *w, takt_id local)
{
    const takt_node n = takt_copier_node(&w->c, local);
    const takt_id id = (takt_id)(w->first + local);
    const takt_group_body *body = takt_groups_body(&w->p->sets, id);
    changed to;
    takt_graph *inner = NULL;
    if (n.op == &takt_op_constant)
        return constant(w, id);
    takt_node_attrs(&n, to.attrs);
    follow(w, id, &n, &to);
    if (body != NULL) {
        const takt_status status = build_body(w->p, body, &inner);
        if (status != TAKT_OK)
            return takt_graph_fail(w->c.out, status);
        takt_graph_inherit(w->c.out, &n);
        to.attrs[takt_op_attr_index(n.op, "body")].graph = inner;
    }
    const takt_id made = takt_graph_append(w->c.out, n.op, n.in_count, n.in, to.attrs);
    takt_graph_destroy(inner);
    return made;
}

static takt_status copy_nodes(work *w)
{
    takt_status status = TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < w->c.in->count; i++) {
        if (!w->c.live[i] || w->c.map[i] != TAKT_NONE)
            continue;
        w->c.map[i] = copy(w, (takt_id)i);
        status = w->c.out->status;
    }
    return status;
}

static takt_status build_body(takt_pruning *p, const takt_group_body *body, takt_graph **out)
{
    work w = {.p = p, .first = body->first};
    takt_status status = takt_copier_init(&w.c, body->graph);
    for (size_t i = 0; status == TAKT_OK && i < body->graph->input_count; i++) {
        const takt_port *port = &body->graph->inputs[i];
        const takt_type type = type_after(p, (takt_id)(body->first + port->id));
        takt_graph_inherit(w.c.out, &body->graph->nodes[port->id]);
        w.c.map[port->id] = takt_graph_input(w.c.out, port->name, &type);
        status = w.c.out->status;
    }
    if (status == TAKT_OK)
        status = copy_nodes(&w);
    return takt_copier_done(&w.c, status, out);
}

takt_status takt_prune_build(takt_pruning *p)
{
    work w = {.p = p};
    takt_status status = takt_copier_init(&w.c, p->model->graph);
    if (status == TAKT_OK)
        status = leaves(&w);
    if (status == TAKT_OK)
        status = copy_nodes(&w);
    return takt_copier_done(&w.c, status, &p->pruned);
}
