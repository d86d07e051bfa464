/* prune.c - removes the least valuable channels, with everything that belongs to them. */
#include "shrink/prune.h"

#include <math.h>
#include <string.h>

#include "api/layers.h"
#include "base/options.h"
#include "op/ops.h"
#include "op/util/conv.h"
#include "plan/finish.h"
#include "shrink/base.h"
#include "shrink/time.h"

/* ---- groups ---- */

static bool is_leaf(const takt_graph *g, takt_id id)
{
    return id != TAKT_NONE &&
           (g->nodes[id].op == &takt_op_constant || g->nodes[id].op == &takt_op_state);
}

/* Whether an op only moves elements or takes some of them. */
static bool is_move(const takt_op *op)
{
    return op == &takt_op_transpose || op == &takt_op_reshape || op == &takt_op_squeeze ||
           op == &takt_op_slice;
}

/* A leaf, or a part of one: files may store weights transposed, or those of both directions of a
 * recurrent layer together. */
static bool is_weight(const takt_graph *g, takt_id id)
{
    while (id != TAKT_NONE && is_move(g->nodes[id].op))
        id = g->nodes[id].in[0];
    return is_leaf(g, id);
}

/* The axis of a layer's result that counts its channels; -1: there is none. */
static int channels_of(const takt_graph *g, const takt_node *n)
{
    if (n->in_count < 2 || !is_weight(g, n->in[1]) || is_weight(g, n->in[0]))
        return -1;
    if (n->op == &takt_op_conv || n->op == &takt_op_conv_dx)
        return n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? n->type->rank - 1 : 1;
    return n->op == &takt_op_matmul && takt_type_of(g, n->in[1])->rank == 2 ? n->type->rank - 1
                                                                            : -1;
}

static const char *label_of(const takt_node *n)
{
    return n->origin != NULL && n->origin->name != NULL ? n->origin->name : takt_node_label(n);
}

/* The group that owns these axes; reached from a layer before it, or from itself. */
static const takt_prune_group *start_of(const takt_pruning *p, size_t starts, takt_axis_ref at)
{
    const size_t entry = p->sets.index[p->sets.offsets[at.node] + (size_t)at.axis];
    for (size_t i = 0; entry > 0 && i < starts; i++)
        if (p->groups[i].axis < entry && entry <= p->groups[i].axis + p->groups[i].axes)
            return &p->groups[i];
    return NULL;
}

/* Every set belongs to the first layer that produces it. */
static void share_sets(takt_pruning *p, takt_prune_group *shared)
{
    const takt_graph *g = p->model->graph;
    const size_t starts = p->group_count;
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        const takt_axis_ref at = {(takt_id)i, channels_of(g, &g->nodes[i])};
        const takt_prune_group *start =
            at.axis >= 0 && p->sets.live[i] ? start_of(p, starts, at) : NULL;
        bool is_new = false;
        for (takt_dim k = 0; start != NULL && k < g->nodes[i].type->dim[at.axis]; k++) {
            uint32_t *owner = &p->owner[takt_groups_unit(&p->sets, at, (uint32_t)k)];
            is_new = is_new || *owner == 0;
            *owner = *owner == 0 ? (uint32_t)count + 1 : *owner;
        }
        if (is_new)
            shared[count++] =
                (takt_prune_group){.name = label_of(&g->nodes[i]),
                                   .axis = start->axis,
                                   .axes = start->axes,
                                   .is_start = p->sets.axes[start->axis].at.node == i};
    }
    p->groups = shared;
    p->group_count = count;
}

static takt_status find_groups(takt_pruning *p)
{
    const takt_graph *g = p->model->graph;
    TAKT_TRY(takt_groups_init(&p->sets, g));
    p->groups = takt_arena_array(&p->arena, g->count + 1, sizeof *p->groups);
    takt_prune_group *shared = takt_arena_array(&p->arena, g->count + 1, sizeof *shared);
    if (p->groups == NULL || shared == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++) {
        const int axis = channels_of(g, &g->nodes[i]);
        const size_t before = p->sets.axis_count;
        if (axis < 0 || !p->sets.live[i] ||
            !takt_groups_start(&p->sets, (takt_axis_ref){(takt_id)i, axis}))
            continue;
        p->groups[p->group_count++] = (takt_prune_group){
            .name = label_of(&g->nodes[i]), .axis = before, .axes = p->sets.axis_count - before};
    }
    TAKT_TRY(takt_groups_settle(&p->sets));
    const size_t elements = p->sets.element_count + 1;
    p->importance = takt_arena_array(&p->arena, elements, sizeof *p->importance);
    p->is_gone = takt_arena_array(&p->arena, elements, sizeof *p->is_gone);
    p->owner = takt_arena_array(&p->arena, elements, sizeof *p->owner);
    if (p->importance == NULL || p->is_gone == NULL || p->owner == NULL)
        return TAKT_ERR_MEMORY;
    share_sets(p, shared);
    return TAKT_OK;
}

/* ---- figures ---- */

static takt_status count_macs(const takt_model *m, const char *sizes, double *macs)
{
    takt_layers l = {.may_be_unsized = false};
    *macs = 0;
    TAKT_TRY(takt_layers_init(&l, m, sizes));
    for (size_t i = 0; i < l.count; i++)
        *macs += l.at[i].macs;
    takt_layers_deinit(&l);
    return TAKT_OK;
}

static takt_status measure(takt_pruning *p, const takt_model *after)
{
    takt_prune_summary *s = &p->summary;
    const takt_shrink_timer timer = {.compare = p->o.compare,
                                     .user = p->o.compare_user,
                                     .max_ns = p->o.max_ns > 0 ? p->o.max_ns : 500000000,
                                     .sizes = p->o.sizes,
                                     .threads = p->o.threads};
    s->parameters_before = takt_shrink_parameters(p->model->graph);
    s->parameters_after = takt_shrink_parameters(after->graph);
    s->bytes_before = takt_shrink_bytes(p->model->graph);
    s->bytes_after = takt_shrink_bytes(after->graph);
    TAKT_TRY(count_macs(p->model, p->o.sizes, &s->macs_before));
    TAKT_TRY(count_macs(after, p->o.sizes, &s->macs_after));
    takt_graph_retain(p->model->graph);
    takt_graph_retain(after->graph);
    return takt_shrink_time(&timer, p->model, p->model->graph, after, after->graph, &s->time);
}

/* A slot of the same type has kept its value: pruned ones start with their zeros. */
static takt_status take_zeros(takt_model *m)
{
    for (size_t i = 0; i < m->graph->slot_count; i++) {
        const takt_slot *s = &m->graph->slots[i];
        if (s->init.kind != TAKT_INIT_TENSOR || s->type.rank < 2 || s->type.dtype != TAKT_F32 ||
            s->next != TAKT_NONE)
            continue;
        takt_tensor_release(&m->slots[i]);
        m->slots[i] = (takt_tensor){0};
        TAKT_TRY(takt_slot_fill(m->ctx, s, m->seed, &m->slots[i]));
    }
    return TAKT_OK;
}

static takt_status work(takt_pruning *p, takt_model **out)
{
    if (!(p->o.amount > 0) || p->o.amount >= 1) {
        takt_fail(p->ctx, TAKT_E_SHRINK_CHANNELS, "with an amount of %g a layer would lose %s",
                  p->o.amount, p->o.amount >= 1 ? "its last channel" : "nothing");
        return takt_fail_hint(p->ctx, "an amount is above 0 and below 1, such as 0.3");
    }
    if (p->o.unstructured) {
        TAKT_TRY(takt_prune_zeros(p));
    } else {
        TAKT_TRY(find_groups(p));
        TAKT_TRY(takt_prune_judge(p));
        TAKT_TRY(takt_prune_choose(p));
        TAKT_TRY(takt_prune_build(p));
    }
    takt_graph *g = p->pruned;
    p->pruned = NULL;
    TAKT_TRY(takt_model_derive(p->model, g, out));
    if (p->o.unstructured)
        TAKT_TRY(take_zeros(*out));
    if (p->model->lineage != NULL)
        (*out)->lineage =
            takt_arena_text(&(*out)->arena, p->model->lineage, strlen(p->model->lineage));
    return measure(p, *out);
}

takt_status takt_model_prune(const takt_model *model, const takt_prune_options *options,
                             takt_format format, takt_sink_fn *sink, void *user,
                             takt_model **pruned)
{
    takt_pruning p = {.model = model};
    if (pruned != NULL)
        *pruned = NULL;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    p.ctx = model->ctx;
    if (pruned == NULL || sink == NULL)
        return takt_fail(p.ctx, TAKT_E_ARGUMENT, "takt_model_prune: pruned or sink is NULL");
    TAKT_TRY(takt_options_read(p.ctx, "takt_prune_options", options, &p.o, sizeof p.o));
    takt_arena_init(&p.arena, p.ctx);
    takt_status status = work(&p, pruned);
    if (status == TAKT_OK)
        status = takt_prune_report(&p, format, sink, user);
    if (status == TAKT_OK && p.o.summary != NULL)
        *p.o.summary = p.summary;
    if (status != TAKT_OK) {
        takt_model_destroy(*pruned);
        *pruned = NULL;
    }
    takt_graph_destroy(p.pruned);
    takt_groups_deinit(&p.sets);
    takt_arena_deinit(&p.arena);
    return status;
}
