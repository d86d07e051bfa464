/* parameter.c - initializers become parameters: weights that can be read, saved and replaced by the
 * names that they have in the file.
 *
 * During import they are constants, so adapters can read them. If a value was used to build the
 * graph (a setting, a weight that a body holds), it stays a constant: another value would need
 * another graph.
 */
#include <string.h>

#include "io/onnx/import.h"

typedef struct work {
    takt_scope *scope;
    const takt_graph *from;
    takt_graph *to;
    takt_id *map;
    takt_id *inputs; /* room for those of any node */
    unsigned char *live, *is_statistic;
} work;

/* Scalars are constants such as 0.5 or an epsilon; 64-bit integers and bools are indices, shapes
 * and switches. */
static bool is_weight(const takt_type *t)
{
    return t->rank > 0 && t->dtype != TAKT_I64 && t->dtype != TAKT_BOOL;
}

/* Means and variances, which training updates in another way. */
static void find_statistics(work *w)
{
    for (size_t i = 0; i < w->from->count; i++) {
        const takt_node *n = takt_node_at(w->from, (takt_id)i);
        for (uint32_t k = 3; n->op == &takt_op_batch_norm && k < n->in_count; k++)
            w->is_statistic[n->in[k]] = 1;
    }
}

/* In a trained model only their next values read them, and nothing else reads those. */
static void find_followed(work *w)
{
    const takt_import *im = w->scope->im;
    for (size_t i = 0; i < im->statistic_count; i++) {
        w->is_statistic[im->statistics[i].value] = 1;
        w->live[im->statistics[i].next] = 1;
    }
    for (size_t i = w->from->count; i-- > 0;)
        for (uint32_t k = 0; w->live[i] && k < w->from->nodes[i].in_count; k++)
            if (w->from->nodes[i].in[k] != TAKT_NONE)
                w->live[w->from->nodes[i].in[k]] = 1;
}

static void set_next(work *w)
{
    const takt_import *im = w->scope->im;
    for (size_t i = 0; i < im->statistic_count; i++) {
        const takt_id value = w->map[im->statistics[i].value];
        for (size_t k = 0; k < w->to->slot_count; k++)
            if (w->to->slots[k].value == value)
                takt_graph_set_next(w->to, w->to->slots[k].name, w->map[im->statistics[i].next]);
    }
}

takt_status takt_import_statistic(takt_import *im, takt_id value, takt_id next)
{
    if (im->statistic_count == im->statistic_room) {
        const size_t room = im->statistic_room > 0 ? 2 * im->statistic_room : 16;
        takt_statistic *more = takt_arena_array(&im->arena, room, sizeof *more);
        if (more == NULL)
            return TAKT_ERR_MEMORY;
        if (im->statistic_count > 0)
            memcpy(more, im->statistics, im->statistic_count * sizeof *more);
        im->statistics = more;
        im->statistic_room = room;
    }
    im->statistics[im->statistic_count++] = (takt_statistic){value, next};
    return TAKT_OK;
}

static bool is_port(const takt_graph *g, const char *name)
{
    size_t i = 0, k = 0;
    while (i < g->input_count && strcmp(g->inputs[i].name, name) != 0)
        i++;
    while (k < g->output_count && strcmp(g->outputs[k].name, name) != 0)
        k++;
    return i < g->input_count || k < g->output_count;
}

static takt_status declare(work *w, const takt_onnx_value *v)
{
    const takt_room *room = w->scope->room;
    if (v->initializer == NULL || v->kind != TAKT_ONNX_TENSOR || v->name.length == 0 ||
        !w->live[v->id] || room->facts[v->id].is_bound || w->map[v->id] != TAKT_NONE)
        return TAKT_OK;
    const takt_node *n = takt_node_at(w->from, v->id);
    if (n->op != &takt_op_constant || !is_weight(&n->type[0]))
        return TAKT_OK;
    const char *name = takt_arena_text(&w->scope->im->arena, v->name.at, v->name.length);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    if (is_port(w->from, name) || takt_graph_find_slot(w->to, name) != NULL)
        return TAKT_OK;
    const takt_init init = {.kind = TAKT_INIT_TENSOR, .tensor = n->attr[0].tensor};
    const bool is_trainable =
        takt_dtype_is_float(n->type[0].dtype) && n->type[0].rank > 0 && !w->is_statistic[v->id];
    takt_graph_inherit(w->to, n);
    w->map[v->id] = takt_graph_slot(w->to, name, &n->type[0], &init, is_trainable);
    return w->to->status;
}

static takt_status copy(work *w)
{
    TAKT_TRY(takt_graph_begin_copy(w->from, w->to, w->map));
    for (size_t i = 0; i < w->scope->value_count; i++)
        TAKT_TRY(declare(w, &w->scope->values[i]));
    for (size_t i = 0; i < w->from->count; i++) {
        const takt_node *n = takt_node_at(w->from, (takt_id)i);
        if (!w->live[i] || w->map[i] != TAKT_NONE)
            continue;
        for (uint32_t k = 0; k < n->in_count; k++)
            w->inputs[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : w->map[n->in[k]];
        w->map[i] = takt_graph_copy_node(w->to, n, w->inputs);
        TAKT_TRY(w->to->status);
    }
    set_next(w);
    return takt_graph_end_copy(w->from, w->to, w->map);
}

takt_status takt_import_parameters(takt_scope *scope)
{
    takt_room *room = scope->room;
    takt_arena *arena = &scope->im->arena;
    work w = {.scope = scope, .from = room->g};
    size_t most = 1;
    for (size_t i = 0; i < w.from->count; i++)
        most = w.from->nodes[i].in_count > most ? w.from->nodes[i].in_count : most;
    w.live = takt_arena_array(arena, w.from->count + 1, 1);
    w.is_statistic = takt_arena_array(arena, w.from->count + 1, 1);
    w.map = takt_arena_array(arena, w.from->count + 1, sizeof *w.map);
    w.inputs = takt_arena_array(arena, most, sizeof *w.inputs);
    if (w.live == NULL || w.is_statistic == NULL || w.map == NULL || w.inputs == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_fold_settle(room));
    takt_graph_live(w.from, w.live);
    find_statistics(&w);
    find_followed(&w);
    TAKT_TRY(takt_graph_create(scope->im->ctx, w.from, &w.to));
    const takt_status status = copy(&w);
    takt_graph_destroy(status == TAKT_OK ? room->g : w.to);
    room->g = status == TAKT_OK ? w.to : room->g;
    return status;
}
