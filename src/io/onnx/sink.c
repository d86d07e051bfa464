/* sink.c - an If whose branches give results of different ranks: their readers move into the
 * branches.
 *
 * Each branch then has its own copy of these nodes, for its ranks, up to the results of the
 * enclosing graph, and those have to agree. So operators that take any rank work; a result of the
 * graph itself whose rank differs between branches is still refused.
 */
#include <string.h>

#include "io/onnx/control.h"

enum { MOST_NODES = 4096 };

typedef struct sinking {
    takt_import *im;
    const takt_pb_graph *graph;
    takt_pb_node *moved, *others;
    size_t moved_count, other_count;
    takt_span *names; /* that depend on the If */
    size_t name_count;
} sinking;

static bool depends(const sinking *s, takt_span name)
{
    for (size_t i = 0; i < s->name_count; i++)
        if (takt_onnx_same(s->names[i], name))
            return true;
    return false;
}

/* Whether a node, or a subgraph of it, reads one of the names. */
static bool reads(const sinking *s, const takt_pb_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (depends(s, n->inputs[i]))
            return true;
    for (size_t i = 0; i < n->attr_count; i++) {
        const takt_pb_graph *g = n->attrs[i].g;
        for (size_t k = 0; g != NULL && k < g->node_count; k++)
            if (reads(s, &g->nodes[k]))
                return true;
        for (size_t k = 0; g != NULL && k < g->output_count; k++)
            if (depends(s, g->outputs[k].name))
                return true;
    }
    return false;
}

static void add_names(sinking *s, const takt_pb_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i].length > 0)
            s->names[s->name_count++] = n->outputs[i];
}

/* Separates nodes that depend on the first of these from the rest. */
static takt_status part(sinking *s, const takt_pb_node *nodes, size_t count)
{
    size_t names = 0;
    for (size_t i = 0; i < count; i++)
        names += nodes[i].output_count;
    s->moved = takt_arena_array(&s->im->arena, count + 1, sizeof *s->moved);
    s->others = takt_arena_array(&s->im->arena, count + 1, sizeof *s->others);
    s->names = takt_arena_array(&s->im->arena, names + 1, sizeof *s->names);
    if (s->moved == NULL || s->others == NULL || s->names == NULL)
        return TAKT_ERR_MEMORY;
    add_names(s, &nodes[0]);
    for (size_t i = 1; i < count; i++)
        if (reads(s, &nodes[i])) {
            add_names(s, &nodes[i]);
            s->moved[s->moved_count++] = nodes[i];
        } else {
            s->others[s->other_count++] = nodes[i];
        }
    return TAKT_OK;
}

/* ---- names ---- */

/* Whether a node, or a subgraph of it, reads or gives `name`. */
static bool mentions(const takt_pb_node *n, takt_span name)
{
    bool is_there = false;
    for (size_t i = 0; i < n->input_count; i++)
        is_there = is_there || takt_onnx_same(n->inputs[i], name);
    for (size_t i = 0; i < n->output_count; i++)
        is_there = is_there || takt_onnx_same(n->outputs[i], name);
    for (size_t i = 0; i < n->attr_count && !is_there; i++) {
        const takt_pb_graph *g = n->attrs[i].g;
        for (size_t k = 0; g != NULL && k < g->node_count && !is_there; k++)
            is_there = mentions(&g->nodes[k], name);
        for (size_t k = 0; g != NULL && k < g->output_count; k++)
            is_there = is_there || takt_onnx_same(g->outputs[k].name, name);
    }
    return is_there;
}

/* Whether `name`, a local value of a branch, is a different value for a node that will move there:
 * the graph may reuse a name after the If. A result named like the If's result is the same
 * value. */
static bool hides(const sinking *s, const takt_pb_node *n, const takt_pb_graph *branch,
                  takt_span name)
{
    bool is_same = name.length == 0;
    for (size_t i = 0; !is_same && i < branch->output_count && i < n->output_count; i++)
        if (takt_onnx_same(n->outputs[i], name)) {
            is_same = takt_onnx_same(branch->outputs[i].name, name);
            if (!is_same)
                return true;
        }
    for (size_t i = 0; i < s->moved_count && !is_same; i++)
        if (mentions(&s->moved[i], name))
            return true;
    return false;
}

static bool hides_any(const sinking *s, const takt_pb_node *n)
{
    for (size_t i = 0; i < n->attr_count; i++) {
        const takt_pb_graph *g = n->attrs[i].g;
        for (size_t k = 0; g != NULL && k < g->initializer_count; k++)
            if (hides(s, n, g, g->initializers[k].name))
                return true;
        for (size_t k = 0; g != NULL && k < g->sparse_count; k++)
            if (g->sparses[k].values != NULL && hides(s, n, g, g->sparses[k].values->name))
                return true;
        for (size_t k = 0; g != NULL && k < g->node_count; k++)
            for (size_t o = 0; o < g->nodes[k].output_count; o++)
                if (hides(s, n, g, g->nodes[k].outputs[o]))
                    return true;
    }
    return false;
}

/* ---- branches ---- */

/* Results of the graph that depend on the If, as results of the new If. */
static takt_status set_results(const sinking *s, takt_pb_node *to, takt_pb_value **values)
{
    to->outputs = takt_arena_array(&s->im->arena, s->graph->output_count + 1, sizeof *to->outputs);
    *values = takt_arena_array(&s->im->arena, s->graph->output_count + 1, sizeof **values);
    if (to->outputs == NULL || *values == NULL)
        return TAKT_ERR_MEMORY;
    to->output_count = 0;
    for (size_t i = 0; i < s->graph->output_count; i++) {
        const takt_pb_value *v = &s->graph->outputs[i];
        bool is_there = !depends(s, v->name);
        for (size_t k = 0; k < to->output_count; k++)
            is_there = is_there || takt_onnx_same(to->outputs[k], v->name);
        if (is_there)
            continue;
        (*values)[to->output_count] = *v;
        to->outputs[to->output_count++] = v->name;
    }
    return TAKT_OK;
}

/* A branch: its nodes, its results renamed to the If's, and the moved nodes. */
static takt_status extend(const sinking *s, const takt_pb_node *n, const takt_pb_graph *from,
                          takt_pb_graph *to)
{
    const size_t count = from->node_count + from->output_count + s->moved_count;
    *to = *from;
    to->nodes = takt_arena_array(&s->im->arena, count + 1, sizeof *to->nodes);
    takt_span *names = takt_arena_array(&s->im->arena, from->output_count + 1, sizeof *names);
    if (to->nodes == NULL || names == NULL)
        return TAKT_ERR_MEMORY;
    if (from->node_count > 0)
        memcpy(to->nodes, from->nodes, from->node_count * sizeof *to->nodes);
    takt_pb_node *at = to->nodes + from->node_count;
    for (size_t i = 0; i < from->output_count && i < n->output_count; i++) {
        if (n->outputs[i].length == 0)
            continue;
        names[i] = from->outputs[i].name;
        *at++ = (takt_pb_node){.op = takt_span_of("Identity"),
                               .inputs = &names[i],
                               .outputs = &n->outputs[i],
                               .input_count = 1,
                               .output_count = 1,
                               .at = n->at};
    }
    if (s->moved_count > 0)
        memcpy(at, s->moved, s->moved_count * sizeof *at);
    to->node_count = (size_t)(at - to->nodes) + s->moved_count;
    return TAKT_OK;
}

static takt_status extend_both(const sinking *s, const takt_pb_node *n, takt_pb_node *to)
{
    takt_pb_value *values;
    TAKT_TRY(set_results(s, to, &values));
    to->attrs = takt_arena_array(&s->im->arena, n->attr_count + 1, sizeof *to->attrs);
    takt_pb_graph *graphs = takt_arena_array(&s->im->arena, n->attr_count + 1, sizeof *graphs);
    if (to->attrs == NULL || graphs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < n->attr_count; i++) {
        to->attrs[i] = n->attrs[i];
        if (n->attrs[i].g == NULL)
            continue;
        TAKT_TRY(extend(s, n, n->attrs[i].g, &graphs[i]));
        graphs[i].outputs = values;
        graphs[i].output_count = to->output_count;
        to->attrs[i].g = &graphs[i];
    }
    return TAKT_OK;
}

bool takt_onnx_may_sink(const takt_scope *scope, const takt_pb_node *node, size_t count)
{
    return scope->graph != NULL && !node->is_sunk && count <= MOST_NODES &&
           takt_span_is(node->op, "If") && 2 * (uint64_t)count <= scope->im->repeats;
}

takt_status takt_onnx_sink(takt_scope *scope, const takt_pb_node *nodes, size_t count)
{
    sinking s = {.im = scope->im, .graph = scope->graph};
    TAKT_TRY(part(&s, nodes, count));
    if (hides_any(&s, &nodes[0])) { /* unchanged, and refused */
        memcpy(s.others, nodes, count * sizeof *nodes);
        s.others[0].is_sunk = true;
        return takt_import_nodes(scope, s.others, count);
    }
    takt_pb_node *to = &s.others[s.other_count++];
    *to = nodes[0];
    to->is_sunk = true;
    TAKT_TRY(extend_both(&s, &nodes[0], to));
    scope->im->repeats -= 2 * s.moved_count; /* nested ones multiply */
    return takt_import_nodes(scope, s.others, s.other_count);
}
