/* control.c - subgraphs of If, Loop, Scan and similar operators. */
#include "io/onnx/control.h"

#include <string.h>

#include "base/size.h"

static size_t name_count(const takt_pb_graph *graph)
{
    size_t names = graph->initializer_count + graph->sparse_count + graph->input_count;
    for (size_t i = 0; i < graph->node_count; i++)
        names += graph->nodes[i].output_count;
    return names;
}

static takt_status open_scope(takt_call *c, takt_room *room, const takt_pb_graph *graph,
                              takt_scope *s)
{
    const takt_scope *outer = c->scope;
    *s = (takt_scope){.im = c->im,
                      .room = room,
                      .parent = c->scope,
                      .opsets = outer->opsets,
                      .opset_count = outer->opset_count,
                      .graph = graph,
                      .depth = outer->depth + 1,
                      .has_gate = outer->has_gate && room == outer->room,
                      .gate = outer->gate};
    if (s->depth > c->ctx->limits.depth)
        return takt_wire_fail(c->ctx, graph->at, "subgraphs nest deeper than %llu",
                              (unsigned long long)c->ctx->limits.depth);
    TAKT_TRY(takt_scope_init(s, name_count(graph)));
    return takt_import_initializers(s, graph);
}

static takt_status results(takt_scope *s, const takt_pb_graph *graph, takt_onnx_value *outputs)
{
    for (size_t i = 0; i < graph->output_count; i++) {
        takt_onnx_value *v;
        TAKT_TRY(takt_scope_use(s, graph->outputs[i].name, &v));
        if (v == NULL)
            return takt_wire_fail(s->im->ctx, graph->at, "a subgraph never produces %.*s",
                                  (int)graph->outputs[i].name.length, graph->outputs[i].name.at);
        outputs[i] = *v;
    }
    return TAKT_OK;
}

takt_status takt_subgraph_inline(takt_call *c, const takt_pb_graph *graph,
                                 const takt_onnx_value *inputs, size_t input_count,
                                 takt_onnx_value *outputs)
{
    takt_scope s;
    if (graph->input_count > input_count)
        return takt_onnx_refuse(c, "the subgraph has %zu inputs, %zu are given", graph->input_count,
                                input_count);
    TAKT_TRY(open_scope(c, c->scope->room, graph, &s));
    for (size_t i = 0; i < graph->input_count; i++) {
        takt_onnx_value *v;
        TAKT_TRY(takt_scope_add(&s, graph->inputs[i].name, graph->at, &v));
        const takt_span name = v->name;
        *v = inputs[i];
        v->name = name;
    }
    TAKT_TRY(takt_import_nodes(&s, graph->nodes, graph->node_count));
    return results(&s, graph, outputs);
}

bool takt_subgraph_repeats(takt_call *c, const takt_pb_graph *graph, size_t times)
{
    size_t nodes;
    if (!takt_size_mul(times, graph->node_count + 1, &nodes) || nodes > c->im->repeats)
        return false;
    c->im->repeats -= nodes;
    return true;
}

/* ---- captures ---- */

static takt_status capture(takt_call *c, takt_span name, takt_captures *list)
{
    takt_onnx_value *v = NULL;
    if (name.length > 0)
        TAKT_TRY(takt_scope_use(c->scope, name, &v));
    if (v == NULL || v->kind != TAKT_ONNX_TENSOR ||
        takt_node_at(c->g, v->id)->op == &takt_op_constant)
        return TAKT_OK;
    for (size_t i = 0; i < list->count; i++)
        if (list->ids[i] == v->id)
            return TAKT_OK;
    if (list->count == list->capacity) {
        const size_t room = list->capacity * 2 + 8;
        takt_id *ids = takt_onnx_get(c, room, sizeof *ids);
        if (ids == NULL)
            return TAKT_ERR_MEMORY;
        if (list->count > 0)
            memcpy(ids, list->ids, list->count * sizeof *ids);
        list->ids = ids;
        list->capacity = room;
    }
    list->ids[list->count++] = v->id;
    return TAKT_OK;
}

/* Recursion is as deep as the messages nest, which the reader limits. */
static takt_status scan_graph(takt_call *c, const takt_pb_graph *graph, takt_captures *list)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const takt_pb_node *n = &graph->nodes[i];
        for (size_t k = 0; k < n->input_count; k++)
            TAKT_TRY(capture(c, n->inputs[k], list));
        for (size_t k = 0; k < n->attr_count; k++)
            if (n->attrs[k].g != NULL)
                TAKT_TRY(scan_graph(c, n->attrs[k].g, list));
    }
    for (size_t i = 0; i < graph->output_count; i++)
        TAKT_TRY(capture(c, graph->outputs[i].name, list));
    return TAKT_OK;
}

takt_status takt_subgraph_captures(takt_call *c, const takt_pb_graph *graph, takt_captures *list)
{
    return scan_graph(c, graph, list);
}

/* ---- a room ---- */

static takt_status fill(takt_call *c, takt_room *room, const takt_pb_graph *graph,
                        const takt_type *types, size_t type_count, const takt_captures *captures)
{
    takt_scope s;
    TAKT_TRY(open_scope(c, room, graph, &s));
    if (graph->input_count != type_count)
        return takt_onnx_refuse(c, "the subgraph has %zu inputs instead of %zu", graph->input_count,
                                type_count);
    for (size_t i = 0; i < type_count; i++) {
        takt_onnx_value *v;
        const takt_span name = graph->inputs[i].name;
        TAKT_TRY(takt_scope_add(&s, name, graph->at, &v));
        const char *text = takt_arena_text(&c->im->arena, name.at, name.length);
        if (text == NULL)
            return TAKT_ERR_MEMORY;
        v->kind = TAKT_ONNX_TENSOR;
        v->id = takt_graph_input(room->g, text, &types[i]);
    }
    for (size_t i = 0; i < captures->count; i++)
        (void)takt_room_capture(room, captures->ids[i]);
    TAKT_TRY(takt_import_nodes(&s, graph->nodes, graph->node_count));
    takt_onnx_value *outputs = takt_onnx_get(c, graph->output_count, sizeof *outputs);
    if (outputs == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(results(&s, graph, outputs));
    for (size_t i = 0; i < graph->output_count; i++) {
        if (outputs[i].kind == TAKT_ONNX_POISON)
            return takt_onnx_refuse(c, "a node of its subgraph is refused");
        if (outputs[i].kind != TAKT_ONNX_TENSOR)
            return takt_onnx_refuse(c, "a result of the subgraph is not a tensor");
        const char *name = takt_arena_format(&c->im->arena, "out_%zu", i);
        if (name == NULL)
            return TAKT_ERR_MEMORY;
        takt_graph_output(room->g, name, outputs[i].id);
    }
    return room->g->status;
}

/* Values that were folded from captures depend on the captured outer values. */
static takt_status bind_captures(takt_room *room)
{
    TAKT_TRY(takt_fold_settle(room));
    for (size_t i = 0; i < room->capture_count; i++)
        if (room->facts[room->captures[i].inner].is_bound)
            TAKT_TRY(takt_fold_bind(room->outer, room->captures[i].outer));
    return TAKT_OK;
}

takt_status takt_subgraph_build(takt_call *c, const takt_pb_graph *graph, const takt_type *types,
                                size_t type_count, const takt_captures *captures, takt_graph **out)
{
    takt_room *room;
    *out = NULL;
    TAKT_TRY(takt_room_create(c->im, c->scope->room, &room));
    room->may_find = captures->may_find;
    const size_t known = captures->count;
    takt_status status = fill(c, room, graph, types, type_count, captures);
    if (status == TAKT_OK && room->capture_count != known)
        status = takt_onnx_refuse(c, "a subgraph captures a value that was not foreseen");
    if (status == TAKT_OK)
        status = bind_captures(room);
    takt_room_close(room);
    if (status == TAKT_OK)
        *out = room->g;
    else
        takt_graph_destroy(room->g);
    return status;
}
