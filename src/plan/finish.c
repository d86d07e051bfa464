/* finish.c - outputs and state that need a copy, segments, and cleaning up. */
#include "plan/finish.h"

#include <string.h>

#include "base/mem.h"
#include "ir/late.h"
#include "ir/leaves.h"
#include "ir/storage.h"
#include "plan/answers.h"
#include "plan/basis.h"
#include "plan/fusion.h"
#include "plan/repeat.h"

const char *takt_node_label(const takt_node *n)
{
    if (n->name != NULL)
        return n->name;
    return n->origin != NULL ? n->origin->name : n->op->name;
}

void takt_add_cost(const takt_graph *g, takt_id node, takt_cost *cost)
{
    const takt_node *n = &g->nodes[node];
    takt_cost own = {0};
    size_t count, bytes;
    if (n->op->cost != NULL) {
        n->op->cost(g, n, &own);
    } else {
        if (takt_type_count(n->type, &count)) {
            own.flops =
                (n->op->traits & TAKT_ELEMENTWISE) == 0
                    ? 0
                    : (double)count * (n->op->flops_per_element > 0 ? n->op->flops_per_element : 1);
            if (takt_dtype_bytes(n->type->dtype, count, &bytes))
                own.bytes = (double)bytes;
        }
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE && takt_type_bytes(takt_type_of(g, n->in[k]), &bytes))
                own.bytes += (double)bytes;
    }
    cost->flops += own.flops;
    cost->bytes += own.bytes;
}

takt_cost takt_step_cost(const takt_plan *plan, const takt_step *s)
{
    takt_cost cost = s->cost;
    for (size_t i = 0; s->nodes != NULL && i < s->node_count; i++)
        takt_add_cost(plan->graph, s->nodes[i], &cost);
    return cost;
}

/* ---- copies ---- */

static void copy_dense(const takt_step *step, const takt_task *task)
{
    const size_t *bytes = step->data;
    memcpy(takt_view_data(task, &step->out[0]), takt_view_data(task, &step->in[0]), *bytes);
}

static takt_status copy_step(takt_builder *b, takt_id from, const takt_buffer *to, const char *what,
                             takt_push_fn *push)
{
    takt_step step = {.kind = "copy",
                      .kernel = "memcpy",
                      .run = copy_dense,
                      .facts.work = TAKT_WORK_MOVE,
                      .task_count = 1,
                      .backend = b->p.settings->fallback};
    b->p.step = &step;
    b->in_capacity = b->out_capacity = 0;
    b->step_index = (int)b->p.plan->step_count;
    size_t index, *bytes = takt_planner_get(&b->p, sizeof *bytes);
    step.name = takt_arena_format(&b->p.plan->arena, "%s", what);
    if (bytes == NULL || step.name == NULL)
        return TAKT_ERR_MEMORY;
    *bytes = to->bytes;
    TAKT_TRY(takt_planner_input(&b->p, from, &index));
    TAKT_TRY(takt_builder_settle(b)); /* a constant may be an output */
    takt_view *out = takt_planner_get(&b->p, sizeof *out);
    if (out == NULL)
        return TAKT_ERR_MEMORY;
    *out = step.in[0];
    out->offset = 0;
    TAKT_TRY(takt_builder_new_buffer(b, *to, &out->buffer));
    b->p.plan->buffers[out->buffer].first = b->step_index;
    b->p.plan->buffers[out->buffer].last = b->step_index;
    step.out = out;
    step.out_count = 1;
    step.data = bytes;
    step.cost.bytes = 2 * (double)to->bytes;
    step.is_commit = to->place == TAKT_PLACE_STATE;
    return push(b, &step);
}

static bool is_direct(const takt_builder *b, size_t output)
{
    const takt_id root = b->root[b->p.graph->outputs[output].id];
    const uint32_t buffer =
        b->space_of[root] == TAKT_HOST ? b->p.plan->buffer_of[root] : b->copy_in[TAKT_HOST][root];
    return buffer != UINT32_MAX && b->p.plan->buffers[buffer].place == TAKT_PLACE_OUTPUT &&
           b->p.plan->buffers[buffer].index == output;
}

static takt_status copy_output(takt_builder *b, size_t output, takt_push_fn *push)
{
    const takt_port *port = &b->p.graph->outputs[output];
    const takt_id root = b->root[port->id];
    if (b->space_of[root] != TAKT_HOST && b->copy_in[TAKT_HOST][root] == UINT32_MAX)
        return takt_builder_bring_output(b, output);
    takt_buffer to = {.place = TAKT_PLACE_OUTPUT, .index = (uint32_t)output, .value = TAKT_NONE};
    if (!takt_type_bytes(takt_type_of(b->p.graph, port->id), &to.bytes))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "output %s is too large", port->name);
    const char *name = takt_arena_format(&b->p.plan->arena, "%s: copy to output", port->name);
    return name == NULL ? TAKT_ERR_MEMORY : copy_step(b, port->id, &to, name, push);
}

/* A next value that is itself state is read before any commit: it goes through the arena. */
static takt_status copy_state(takt_builder *b, size_t slot, takt_push_fn *push)
{
    const takt_slot *s = &b->p.graph->slots[slot];
    const takt_plan_slot *own = &b->p.plan->slots[slot];
    if (!own->is_changed || own->is_swapped || own->from != UINT32_MAX ||
        takt_state_is_in_place(b, slot))
        return TAKT_OK;
    if (own->space != TAKT_HOST)
        return takt_builder_commit_away(b, slot);
    takt_buffer to = {.place = TAKT_PLACE_STATE, .index = (uint32_t)slot, .value = TAKT_NONE};
    if (!takt_type_bytes(&s->type, &to.bytes))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "state %s is too large", s->name);
    const char *name = takt_arena_format(&b->p.plan->arena, "%s: commit", s->name);
    return name == NULL ? TAKT_ERR_MEMORY : copy_step(b, s->next, &to, name, push);
}

static takt_status shelter_state(takt_builder *b, size_t slot, takt_push_fn *push)
{
    const takt_slot *s = &b->p.graph->slots[slot];
    const takt_id root = s->next == TAKT_NONE ? TAKT_NONE : b->root[s->next];
    if (root == TAKT_NONE || root == s->value || b->p.plan->slots[slot].from != UINT32_MAX ||
        b->p.graph->nodes[root].op != &takt_op_state ||
        b->space_of[root] != TAKT_HOST) /* a value from another space has already been copied */
        return TAKT_OK;
    takt_buffer to = {.place = TAKT_PLACE_ARENA, .value = TAKT_NONE};
    if (!takt_type_bytes(takt_type_of(b->p.graph, root), &to.bytes))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "state %s is too large", s->name);
    const char *name = takt_arena_format(&b->p.plan->arena, "%s: keep old state", s->name);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(copy_step(b, root, &to, name, push));
    b->p.plan->buffer_of[root] = b->p.plan->steps[b->p.plan->step_count - 1].out[0].buffer;
    return TAKT_OK;
}

/* It is computed in the commit phase, where it is needed. */
static bool is_in_commit(const takt_builder *b, takt_id node)
{
    return b->group_index[node] >= 0 && b->groups[b->group_index[node]].is_commit;
}

takt_status takt_finish_outputs(takt_builder *b, takt_push_fn *push)
{
    const takt_graph *g = b->p.graph;
    b->space = TAKT_HOST;
    for (size_t i = 0; i < g->output_count; i++)
        if (!is_direct(b, i))
            TAKT_TRY(copy_output(b, i, push));
    /* Before the commit phase, which cannot fail. */
    for (size_t i = 0; b->copy_in[TAKT_HOST] != NULL && i < g->slot_count; i++)
        if (b->p.plan->slots[i].is_changed && b->p.plan->slots[i].space == TAKT_HOST &&
            !is_in_commit(b, g->slots[i].next))
            TAKT_TRY(takt_builder_bring(b, b->root[g->slots[i].next], TAKT_HOST));
    for (size_t i = 0; b->copy_in[TAKT_HOST] != NULL && i < b->group_count; i++) {
        b->space = b->space_of[b->groups[i].nodes[0]];
        if (b->groups[i].is_commit)
            TAKT_TRY(takt_builder_bring_all(b, &b->groups[i]));
    }
    b->space = TAKT_HOST;
    for (size_t i = 0; i < g->slot_count; i++)
        TAKT_TRY(shelter_state(b, i, push));
    return TAKT_OK;
}

takt_status takt_finish_state(takt_builder *b, takt_push_fn *push)
{
    const takt_graph *g = b->p.graph;
    b->space = TAKT_HOST;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            TAKT_TRY(copy_state(b, i, push));
    TAKT_TRY(takt_builder_pack_state(b));
    for (size_t i = 0; i < b->p.plan->buffer_count; i++) /* kept until the run is over */
        if (b->p.plan->buffers[i].last == TAKT_FOREVER)
            b->p.plan->buffers[i].last = (int)b->p.plan->step_count - 1;
    return TAKT_OK;
}

/* ---- segments ---- */

static bool is_same_segment(const takt_step *a, const takt_step *b)
{
    return a->space == b->space && a->is_commit == b->is_commit && !a->is_point && !a->is_driven &&
           !b->is_driven && (a->space == TAKT_HOST || a->backend == b->backend);
}

/* A fault, and the inputs that it refers to, are checked when its segment has ended. */
void takt_finish_faults(takt_builder *b)
{
    const takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        size_t end = i + 1;
        if (s->space == TAKT_HOST || !s->can_fault)
            continue;
        while (end < plan->step_count && is_same_segment(s, &plan->steps[end]))
            end++;
        for (size_t k = 0; k < s->in_count; k++)
            if (plan->buffers[s->in[k].buffer].place == TAKT_PLACE_ARENA &&
                plan->buffers[s->in[k].buffer].last < (int)end - 1)
                plan->buffers[s->in[k].buffer].last = (int)end - 1;
    }
}

double takt_segment_us(const takt_plan *plan, const takt_segment *g)
{
    const takt_backend *backend = g->backend;
    double us = 0;
    if (g->space == TAKT_HOST || backend->machine == NULL)
        return 0;
    const takt_machine *m =
        backend->machine(backend == plan->backend ? plan->backend_state : NULL, plan->isas);
    for (size_t i = g->first; i < g->end; i++) {
        const takt_step *s = &plan->steps[i];
        const takt_cost cost = takt_step_cost(plan, s);
        us += s->transfer.way == TAKT_COPY_NONE
                  ? takt_machine_us(m, &cost)
                  : m->copy_us + (double)s->transfer.bytes / m->copied_per_us;
    }
    return us;
}

bool takt_segment_goes_on(const takt_plan *plan, size_t index)
{
    const size_t first = plan->segments[index].first;
    return index > 0 && is_same_segment(&plan->steps[first - 1], &plan->steps[first]);
}

/* Cancel and deadline are checked between segments, so long ones are cut; a commit must not be
 * interrupted. */
static bool is_cut(const takt_plan *plan, const takt_segment *g, double us, size_t step)
{
    const takt_segment more = {
        .backend = g->backend, .space = g->space, .first = step, .end = step + 1};
    return us > 0 && !g->is_commit && us + takt_segment_us(plan, &more) > TAKT_SEGMENT_US;
}

takt_status takt_finish_segments(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    takt_segment *all = takt_arena_array(&b->scratch, plan->step_count, sizeof *all);
    size_t count = 0;
    double us = 0;
    if (all == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        if (i == 0 || !is_same_segment(s - 1, s) || is_cut(plan, &all[count - 1], us, i)) {
            all[count++] = (takt_segment){
                .backend = s->backend, .space = s->space, .first = i, .is_commit = s->is_commit};
            us = 0;
        }
        all[count - 1].end = i + 1;
        all[count - 1].is_point = s->is_point;
        us += takt_segment_us(
            plan,
            &(takt_segment){.backend = s->backend, .space = s->space, .first = i, .end = i + 1});
    }
    plan->segments = takt_arena_copy(&plan->arena, all, count * sizeof *all);
    plan->segment_count = plan->segments != NULL ? count : 0;
    return plan->segments != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_finish_shrink(takt_builder *b, bool is_built)
{
    takt_plan *plan = b->p.plan;
    takt_ctx *ctx = b->p.ctx;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < 2; i++) {
        takt_storage_release(b->spare[i]);
        b->spare[i] = NULL;
    }
    takt_storage_release(b->late_room);
    b->late_room = NULL;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *buffer = &plan->buffers[i];
        if (buffer->place != TAKT_PLACE_CONSTANT)
            continue;
        if (buffer->last < 0 && !takt_answers_holds(b, (uint32_t)i))
            takt_tensor_release(&plan->constants[buffer->index]);
        else if (is_built && status == TAKT_OK && b->sized == NULL && !plan->is_dry &&
                 buffer->space == TAKT_HOST) {
            status = takt_storage_settle(plan->constants[buffer->index].storage);
            if (status == TAKT_OK)
                status = takt_storage_trim(&plan->constants[buffer->index].storage);
            if (status == TAKT_OK)
                status = takt_storage_share(&plan->constants[buffer->index].storage);
        }
    }
    if (status == TAKT_OK && plan->step_count > 0)
        status = takt_builder_keep(b);
    takt_arena *arena = &plan->arena;
    takt_step *steps = takt_arena_copy(arena, plan->steps, plan->step_count * sizeof *steps);
    takt_buffer *buffers =
        takt_arena_copy(arena, plan->buffers, plan->buffer_count * sizeof *buffers);
    takt_tensor *constants =
        takt_arena_copy(arena, plan->constants, plan->constant_count * sizeof *constants);
    plan->fusions = takt_arena_copy(arena, b->fusions, b->fusion_count * sizeof *b->fusions);
    plan->forms = takt_arena_copy(arena, b->forms, b->form_count * sizeof *b->forms);
    plan->form_count = plan->forms != NULL ? b->form_count : 0;
    plan->fusion_count = plan->fusions != NULL ? b->fusion_count : 0;
    const bool ok = steps != NULL && buffers != NULL && constants != NULL && plan->forms != NULL;
    for (size_t i = 0; i < plan->constant_count && !ok; i++)
        takt_tensor_release(&plan->constants[i]);
    takt_mem_put(ctx, plan->steps, b->step_capacity * sizeof *steps);
    takt_mem_put(ctx, plan->buffers, b->buffer_capacity * sizeof *buffers);
    takt_mem_put(ctx, plan->constants, b->constant_capacity * sizeof *constants);
    takt_mem_put(ctx, b->fusions, b->fusion_capacity * sizeof *b->fusions);
    takt_mem_put(ctx, b->packs, b->pack_capacity * sizeof *b->packs);
    takt_mem_put(ctx, b->forms, b->form_capacity * sizeof *b->forms);
    plan->steps = ok ? steps : NULL;
    plan->buffers = ok ? buffers : NULL;
    plan->constants = ok ? constants : NULL;
    if (!ok)
        plan->step_count = plan->buffer_count = plan->constant_count = 0;
    return ok ? status : TAKT_ERR_MEMORY;
}

void takt_plan_retain_internal(takt_plan *plan)
{
    __atomic_add_fetch(&plan->references, 1, __ATOMIC_RELAXED);
}

void takt_plan_release_internal(takt_plan *plan)
{
    if (plan == NULL || __atomic_sub_fetch(&plan->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < plan->constant_count; i++)
        takt_tensor_release(&plan->constants[i]);
    for (size_t i = 0; plan->initial != NULL && i < plan->graph->slot_count; i++)
        takt_tensor_release(&plan->initial[i]);
    takt_ctx *ctx = plan->ctx;
    for (takt_plan *child = plan->child, *next; child != NULL; child = next) {
        next = child->sibling;
        takt_plan_release_internal(child); /* subgraphs are nested to a limited depth */
    }
    for (takt_plan *other = plan->variants, *next; other != NULL; other = next) {
        next = other->variant;
        takt_plan_release_internal(other); /* which does not have one itself */
    }
    takt_repeat_destroy(plan->body);
    takt_basis_leave(plan);
    if (plan->is_pinning)
        takt_basis_unpin(plan->basis);
    takt_basis_release(plan->basis);
    takt_graph_destroy(plan->graph);
    takt_arena_deinit(&plan->arena);
    takt_mem_put(ctx, plan, sizeof *plan);
}
