/* build.c - makes a plan: groups, steps, memory. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "plan/answers.h"
#include "plan/basis.h"
#include "plan/builder.h"
#include "plan/finish.h"

/* ---- facts about every node ---- */

static bool may_be_constant(const takt_node *n)
{
    return n->op != &takt_op_input && n->op != &takt_op_state && n->op != &takt_op_custom &&
           n->op != &takt_op_length;
}

static void find_constants(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        bool constant = may_be_constant(n);
        for (uint32_t k = 0; k < n->in_count && constant; k++)
            constant = n->in[k] == TAKT_NONE || b->is_constant[n->in[k]];
        b->is_constant[i] = constant;
    }
}

static void count_uses(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                b->uses[g->nodes[i].in[k]]++;
    for (size_t i = 0; i < g->output_count; i++)
        b->uses[g->outputs[i].id]++;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            b->uses[g->slots[i].next]++;
}

static void chain_gets(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    memset(b->gets, 0xff, g->count * sizeof *b->gets);
    memset(b->next_get, 0xff, g->count * sizeof *b->next_get);
    for (size_t i = 0; i < g->count; i++) {
        if (!b->live[i] || g->nodes[i].op != &takt_op_get)
            continue;
        const takt_id from = g->nodes[i].in[0];
        b->next_get[i] = b->gets[from];
        b->gets[from] = (takt_id)i;
    }
}

/* Which input, slot or output a node is: needed for every value, so looked up once. */
static takt_status index_edges(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    b->port_of = takt_arena_array(&b->scratch, g->count, sizeof *b->port_of);
    b->output_of = takt_arena_array(&b->scratch, g->count, sizeof *b->output_of);
    b->pack_of = takt_arena_array(&b->scratch, g->count, sizeof *b->pack_of);
    if (b->port_of == NULL || b->output_of == NULL || b->pack_of == NULL)
        return TAKT_ERR_MEMORY;
    memset(b->pack_of, 0xff, g->count * sizeof *b->pack_of);
    memset(b->output_of, 0xff, g->count * sizeof *b->output_of);
    for (size_t i = 0; i < g->input_count; i++)
        b->port_of[g->inputs[i].id] = (uint32_t)i;
    for (size_t i = 0; i < g->slot_count; i++)
        b->port_of[g->slots[i].value] = (uint32_t)i;
    for (size_t i = g->output_count; i-- > 0;)
        b->output_of[b->root[g->outputs[i].id]] = (uint32_t)i;
    return TAKT_OK;
}

static takt_status survey(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    takt_plan *plan = b->p.plan;
    b->live = takt_arena_array(&b->scratch, g->count, 1);
    b->is_constant = takt_arena_array(&b->scratch, g->count, 1);
    b->uses = takt_arena_array(&b->scratch, g->count, sizeof *b->uses);
    b->gets = takt_arena_array(&b->scratch, g->count, sizeof *b->gets);
    b->next_get = takt_arena_array(&b->scratch, g->count, sizeof *b->next_get);
    plan->buffer_of = takt_arena_array(&plan->arena, g->count, sizeof *plan->buffer_of);
    plan->view_of = takt_arena_array(&plan->arena, g->count, sizeof *plan->view_of);
    if (b->live == NULL || b->is_constant == NULL || b->uses == NULL || b->gets == NULL ||
        b->next_get == NULL || plan->buffer_of == NULL || plan->view_of == NULL)
        return TAKT_ERR_MEMORY;
    memset(plan->buffer_of, 0xff, g->count * sizeof *plan->buffer_of);
    takt_graph_live(g, b->live);
    find_constants(b);
    count_uses(b);
    chain_gets(b);
    b->p.uses = b->uses;
    b->p.is_constant = b->is_constant;
    TAKT_TRY(takt_builder_lengths(b));
    TAKT_TRY(takt_builder_alias(b));
    TAKT_TRY(takt_builder_assign(b));
    TAKT_TRY(takt_builder_find_slots(b));
    TAKT_TRY(takt_builder_join(b));
    TAKT_TRY(index_edges(b));
    TAKT_TRY(takt_builder_find_rings(b));
    TAKT_TRY(takt_builder_group(b));
    TAKT_TRY(takt_builder_commit(b));
    TAKT_TRY(takt_builder_mark_late(b));
    TAKT_TRY(takt_builder_mark_derived(b));
    TAKT_TRY(takt_builder_order(b));
    return takt_builder_count_reads(b);
}

/* ---- steps ---- */

enum { STEP_NAME = 512, STEP_OPS = 6 };

static size_t add_text(char *to, size_t at, const char *text)
{
    const size_t length = strlen(text), room = STEP_NAME - at;
    memcpy(to + at, text, length < room ? length : room);
    return at + (length < room ? length : room);
}

/* "dense_0: matmul+add+relu" */
static const char *step_name(takt_builder *b, const takt_group *group, size_t *does)
{
    const takt_graph *g = b->p.graph;
    char name[STEP_NAME], more[32];
    size_t at = add_text(name, 0, takt_node_label(&g->nodes[group->nodes[group->count - 1]]));
    at = add_text(name, at, ": ");
    *does = at;
    for (size_t i = 0; i < group->count; i++) {
        if (i == STEP_OPS && group->count > STEP_OPS + 2) {
            snprintf(more, sizeof more, "+%zu more", group->count - i);
            at = add_text(name, at, more);
            break;
        }
        at = add_text(name, at, i > 0 ? "+" : "");
        at = add_text(name, at, g->nodes[group->nodes[i]].op->name);
    }
    return takt_arena_text(&b->p.plan->arena, name, at);
}

takt_status takt_builder_step(takt_builder *b, const takt_group *group, takt_step *step)
{
    size_t does;
    *step = (takt_step){.task_count = 1,
                        .node_count = group->count,
                        .name = step_name(b, group, &does),
                        .isas = b->p.settings->isas};
    step->nodes =
        takt_arena_copy(&b->p.plan->arena, group->nodes, group->count * sizeof *group->nodes);
    if (step->name == NULL || step->nodes == NULL)
        return TAKT_ERR_MEMORY;
    step->does = step->name + does;
    b->p.step = step;
    b->p.group = group;
    b->p.scratch_room = takt_builder_scratch_room(b, group);
    b->in_capacity = b->out_capacity = 0;
    const takt_backend *backend = takt_builder_backend(b, group->nodes[0]);
    for (size_t i = 0; b->reason_of != NULL && i < group->count && step->note == NULL; i++)
        step->note = b->reason_of[group->nodes[i]];
    step->backend = backend;
    step->space = b->space;
    const takt_status status = backend->compile(&b->p);
    if (status != TAKT_OK)
        takt_fail_node(b->p.ctx, takt_node_label(&b->p.graph->nodes[group->nodes[0]]));
    if (status == TAKT_OK && step->kernel == NULL) {
        step->kernel = "generic";
        step->facts.is_generic = true;
    }
    return status;
}

takt_status takt_builder_push(takt_builder *b, const takt_step *step)
{
    takt_plan *plan = b->p.plan;
    void *array = plan->steps;
    const takt_status status =
        takt_mem_grow(b->p.ctx, &array, &b->step_capacity, plan->step_count + 1, sizeof *step);
    plan->steps = array;
    TAKT_TRY(status);
    plan->steps[plan->step_count++] = *step;
    plan->is_parallel |= step->task_count > 1 || step->shares_pool;
    plan->interprets |= takt_step_interprets(plan->graph, step);
    return TAKT_OK;
}

/* A group that runs again makes new buffers. Groups whose results are part of a larger value, and
 * so may have a buffer before their first run, never run again. */
static void forget(takt_builder *b, takt_id node)
{
    if (b->p.settings->remat_count > 0 && b->root[node] == node)
        b->p.plan->buffer_of[node] = UINT32_MAX;
}

/* Constants and other values that the step requested. */
static takt_status settle(takt_builder *b, const takt_group *group)
{
    const takt_status status = takt_builder_settle(b);
    if (status != TAKT_OK)
        takt_fail_node(b->p.ctx, takt_node_label(&b->p.graph->nodes[group->nodes[0]]));
    return status;
}

takt_status takt_builder_compile(takt_builder *b, const takt_group *group)
{
    takt_step step;
    b->in_prologue = b->is_constant[group->nodes[0]];
    b->space = b->in_prologue || takt_builder_backend(b, group->nodes[0])->device == NULL
                   ? TAKT_HOST
                   : TAKT_AWAY;
    TAKT_TRY(takt_builder_bring_all(b, group));
    b->step_index = b->in_prologue ? -1 : (int)b->p.plan->step_count;
    if (!b->in_prologue &&
        b->last_run[b->group_index[group->nodes[0]]] == b->position) /* what ran before is gone */
        for (size_t i = 0; i < group->count; i++)
            forget(b, group->nodes[i]);
    TAKT_TRY(takt_builder_write_state(b, group));
    TAKT_TRY(takt_builder_step(b, group, &step));
    step.is_commit = group->is_commit;
    step.is_point = b->p.graph->nodes[group->nodes[0]].op == &takt_op_length;
    if (!b->in_prologue)
        TAKT_TRY(settle(b, group));
    TAKT_TRY(b->in_prologue ? takt_builder_run_constant(b, &step) : takt_builder_push(b, &step));
    takt_builder_consume(b, group, &step);
    return TAKT_OK;
}

/* ---- the whole ---- */

/* The groups at positions [first, end). */
static takt_status compile_all(takt_builder *b, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const takt_group *group = &b->groups[b->sequence[i]];
        b->position = (int32_t)i;
        if (!b->is_constant[group->nodes[0]] && !b->is_derived[group->nodes[0]])
            TAKT_TRY(takt_builder_compile(b, group));
    }
    b->in_prologue = false;
    return TAKT_OK;
}

static takt_status build(takt_builder *b)
{
    TAKT_TRY(survey(b));
    TAKT_TRY(compile_all(b, 0, (size_t)b->tail));
    TAKT_TRY(takt_finish_outputs(b, takt_builder_push));
    TAKT_TRY(compile_all(b, (size_t)b->tail, b->sequence_count));
    TAKT_TRY(takt_finish_state(b, takt_builder_push));
    takt_builder_seal(b);
    takt_finish_faults(b);
    takt_builder_donate(b);
    TAKT_TRY(takt_builder_place(b));
    TAKT_TRY(takt_finish_segments(b));
    return takt_finish_sizes(b);
}

takt_status takt_builder_build(takt_builder *b, takt_plan **out)
{
    takt_ctx *ctx = b->p.ctx;
    takt_graph *graph = (takt_graph *)(uintptr_t)b->p.graph; /* retained, not changed */
    const takt_plan_settings *settings = b->p.settings;
    *out = NULL;
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_plan), "plan", &block));
    takt_plan *plan = block;
    plan->ctx = ctx;
    plan->references = 1;
    plan->threads = settings->threads < 1 ? 1 : settings->threads;
    plan->isas = settings->isas;
    memcpy(plan->family_isas, settings->family_isas, sizeof plan->family_isas);
    plan->is_dry = settings->is_dry;
    plan->backend = settings->backend;
    plan->settings = *settings;
    plan->settings.remat = NULL;
    plan->settings.basis = NULL;
    plan->settings.sizes = NULL;
    plan->settings.size_count = 0;
    plan->settings.rooms = NULL;
    plan->settings.single_threaded = NULL;
    plan->settings.single_count = 0;
    plan->single_threaded_steps = settings->single_count;
    plan->settings.library = plan->settings.donated = NULL;
    plan->settings.remat_count = 0;
    plan->settings.order = TAKT_ORDER_GIVEN;
    takt_arena_init(&plan->arena, ctx);
    plan->graph = graph;
    takt_graph_retain(graph);
    plan->basis = settings->basis;
    if (plan->basis != NULL)
        takt_basis_retain(plan->basis);
    plan->space_count = 1;
    b->p.plan = plan;
    takt_arena_init(&b->scratch, ctx);
    takt_status status = takt_opened_get(ctx, settings->backend, settings->library, plan->threads,
                                         &plan->backend_state);
    if (settings->backend->device != NULL) {
        plan->space[TAKT_AWAY].backend = settings->backend;
        plan->space[TAKT_AWAY].device = plan->backend_state;
        plan->space_count = TAKT_AWAY + 1;
    }
    if (status == TAKT_OK)
        status = build(b);
    takt_pool_destroy(b->pool);
    b->pool = NULL;
    const takt_status shrunk = takt_finish_shrink(b, status == TAKT_OK);
    status = status != TAKT_OK ? status : shrunk;
    if (status != TAKT_OK) {
        takt_plan_release_internal(plan);
        return status;
    }
    *out = plan;
    return TAKT_OK;
}

takt_status takt_plan_build(takt_ctx *ctx, takt_graph *graph, const takt_plan_settings *settings,
                            takt_plan **out)
{
    takt_builder b = {.p = {.ctx = ctx, .graph = graph, .settings = settings}};
    const takt_status status = takt_builder_build(&b, out);
    takt_arena_deinit(&b.scratch);
    return status;
}
