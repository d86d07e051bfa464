/* split.c - inputs that one branch of an If alone reads. */
#include "io/onnx/split.h"

#include "ir/dim_like.h"

/* Larger files are written while they are being read. */
enum { MOST_INPUTS = 256, MOST_DEPTH = 8 };

static bool reads(const takt_pb_graph *graph, takt_span name, int depth)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const takt_pb_node *n = &graph->nodes[i];
        for (size_t k = 0; k < n->input_count; k++)
            if (takt_onnx_same(n->inputs[k], name))
                return true;
        for (size_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].g != NULL && (depth == 0 || reads(n->attrs[k].g, name, depth - 1)))
                return true;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        if (takt_onnx_same(graph->outputs[i].name, name))
            return true;
    return false;
}

/* The branch of an If that alone reads it; NULL: none. */
static const takt_pb_graph *branch_of(const takt_pb_graph *graph, takt_span name)
{
    const takt_pb_graph *only = NULL;
    for (size_t i = 0; i < graph->node_count; i++) {
        const takt_pb_node *n = &graph->nodes[i];
        for (size_t k = 0; k < n->input_count; k++)
            if (takt_onnx_same(n->inputs[k], name))
                return NULL;
        for (size_t k = 0; k < n->attr_count; k++) {
            const takt_pb_graph *inner = n->attrs[k].g;
            if (inner == NULL || !reads(inner, name, MOST_DEPTH))
                continue;
            if (only != NULL || !takt_span_is(n->op, "If"))
                return NULL;
            only = inner;
        }
    }
    for (size_t i = 0; i < graph->output_count; i++)
        if (takt_onnx_same(graph->outputs[i].name, name))
            return NULL;
    return only;
}

static bool has_label(const takt_pb_value *v, takt_span label)
{
    const takt_pb_tensor_type *t = v->type != NULL ? v->type->tensor : NULL;
    for (size_t i = 0; t != NULL && t->shape != NULL && i < t->shape->dim_count; i++)
        if (takt_onnx_same(t->shape->dims[i].param, label))
            return true;
    return false;
}

/* Which inputs have a size of that name: an input that no single branch reads, and inputs of
 * several branches, of which the first keeps the name. */
typedef struct users {
    bool is_outside, has_several;
    const takt_pb_graph *first;
} users;

static users users_of(const takt_import *im, takt_span label)
{
    const takt_pb_graph *graph = im->model.graph;
    users u = {0};
    for (size_t i = 0; i < graph->input_count; i++) {
        if (!has_label(&graph->inputs[i], label))
            continue;
        const takt_pb_graph *branch = im->branches[i];
        u.is_outside = u.is_outside || branch == NULL;
        u.first = u.first != NULL ? u.first : branch;
        u.has_several = u.has_several || (branch != NULL && branch != u.first);
    }
    return u;
}

/* All nodes are looked at once per input. */
static takt_status find_branches(takt_import *im)
{
    const takt_pb_graph *graph = im->model.graph;
    if (im->branches != NULL)
        return TAKT_OK;
    im->branches = takt_arena_array(&im->arena, graph->input_count, sizeof *im->branches);
    if (im->branches == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < graph->input_count; i++)
        im->branches[i] = branch_of(graph, graph->inputs[i].name);
    return TAKT_OK;
}

static const takt_pb_graph *known_branch(const takt_import *im, takt_span name)
{
    const takt_pb_graph *graph = im->model.graph;
    for (size_t i = 0; i < graph->input_count; i++)
        if (takt_onnx_same(graph->inputs[i].name, name))
            return im->branches[i];
    return NULL;
}

static takt_status name_of(takt_import *im, takt_span label, takt_onnx_split *s)
{
    takt_dims *dims = im->main->g->dims;
    for (const takt_onnx_split *p = im->splits; p != NULL; p = p->next)
        if (p->branch == s->branch && takt_onnx_same(p->label, label)) {
            s->own = p->own;
            return TAKT_OK;
        }
    const char *text = takt_arena_text(&im->arena, label.at, label.length);
    return text != NULL ? takt_dim_fresh(dims, text, &s->own) : TAKT_ERR_MEMORY;
}

/* ---- one size under two names ---- */

static takt_span said_of(const takt_import *im, takt_span label)
{
    for (size_t i = 0; im->aliases != NULL && i < im->aliases->count; i++)
        if (takt_onnx_same(im->aliases->at[i].label, label))
            return im->aliases->at[i].said;
    return (takt_span){0};
}

/* A name of an input that no single branch reads, if it is known to be the same size. */
static takt_status find_said(const takt_import *im, takt_span label, takt_span *said)
{
    const takt_pb_graph *graph = im->model.graph;
    takt_dims *dims = im->main->g->dims;
    takt_dim own, other;
    TAKT_TRY(takt_dim_hint(dims, label, &own));
    for (size_t i = 0; i < graph->input_count; i++) {
        const takt_pb_type *type = graph->inputs[i].type;
        const takt_pb_tensor_type *t = type != NULL ? type->tensor : NULL;
        for (size_t d = 0; im->branches[i] == NULL && t != NULL && t->shape != NULL &&
                           d < t->shape->dim_count && said->length == 0;
             d++) {
            const takt_span name = t->shape->dims[d].param;
            if (name.length == 0 || takt_onnx_same(name, label))
                continue;
            TAKT_TRY(takt_dim_hint(dims, name, &other));
            if (takt_dim_same(dims, own, other))
                *said = name;
        }
    }
    return TAKT_OK;
}

static takt_status look_at(const takt_import *im, const takt_pb_value *in, takt_onnx_aliases *found)
{
    const takt_pb_tensor_type *t = in->type != NULL ? in->type->tensor : NULL;
    for (size_t d = 1; t != NULL && t->shape != NULL && d < t->shape->dim_count; d++) {
        const takt_span label = t->shape->dims[d].param;
        const users u = users_of(im, label);
        bool is_known = !takt_onnx_is_named(label) || u.is_outside || u.has_several;
        for (size_t i = 0; i < found->count; i++)
            is_known = is_known || takt_onnx_same(found->at[i].label, label);
        takt_span said = {0};
        if (is_known || found->count == TAKT_ONNX_ALIASES)
            continue;
        TAKT_TRY(find_said(im, label, &said));
        if (said.length > 0) {
            found->at[found->count].label = label;
            found->at[found->count++].said = said;
        }
    }
    return TAKT_OK;
}

takt_status takt_split_find(takt_import *im, takt_onnx_aliases *found)
{
    const takt_pb_graph *graph = im->model.graph;
    found->count = 0;
    for (size_t i = 0; im->branches != NULL && i < graph->input_count; i++)
        if (im->branches[i] != NULL)
            TAKT_TRY(look_at(im, &graph->inputs[i], found));
    return TAKT_OK;
}

/* ---- inputs ---- */

takt_status takt_split_input(takt_import *im, const takt_pb_value *in, takt_type *type)
{
    const takt_pb_graph *graph = im->model.graph;
    const takt_pb_tensor_type *t = in->type != NULL ? in->type->tensor : NULL;
    size_t name;
    if (graph->input_count > MOST_INPUTS || t == NULL || t->shape == NULL || type->rank < 2 ||
        t->shape->dim_count != (size_t)type->rank)
        return TAKT_OK;
    TAKT_TRY(find_branches(im));
    const takt_pb_graph *branch = known_branch(im, in->name);
    for (int d = 1; branch != NULL && d < type->rank; d++) {
        const takt_span label = t->shape->dims[d].param;
        if (!takt_onnx_is_named(label) || takt_dim_is_number(type->dim[d]) ||
            !takt_dim_is_name(im->main->g->dims, type->dim[d], &name))
            continue;
        const users u = users_of(im, label);
        const takt_span other = said_of(im, label);
        if (other.length == 0 && u.first == branch && (u.has_several || !u.is_outside))
            continue;
        takt_onnx_split *s = takt_arena_array(&im->arena, 1, sizeof *s);
        if (s == NULL)
            return TAKT_ERR_MEMORY;
        *s = (takt_onnx_split){
            .next = im->splits, .id = TAKT_NONE, .branch = branch, .axis = d, .label = label};
        if (other.length > 0) { /* it has a name of its own */
            s->own = type->dim[d];
            TAKT_TRY(takt_dim_hint(im->main->g->dims, other, &s->said));
        } else {
            TAKT_TRY(name_of(im, label, s));
            s->said = u.is_outside ? type->dim[d] : s->own;
        }
        takt_dim_set_like(im->main->g->dims, s->own, other.length > 0 ? s->said : type->dim[d]);
        type->dim[d] = s->own;
        im->splits = s;
    }
    return TAKT_OK;
}

void takt_split_done(takt_import *im, takt_id id)
{
    for (takt_onnx_split *s = im->splits; s != NULL && s->id == TAKT_NONE; s = s->next)
        s->id = id;
}

takt_type takt_split_type(const takt_room *room, takt_id id)
{
    takt_type type = *takt_type_of(room->g, id);
    for (const takt_onnx_split *s = room->im->splits; s != NULL; s = s->next)
        if (room == room->im->main && s->id == id)
            type.dim[s->axis] = s->said;
    return type;
}
