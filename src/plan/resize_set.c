/* resize_set.c - recompiles steps in place, for other sizes. */
#include <string.h>

#include "base/error_record.h"
#include "base/mem.h"
#include "base/size.h"
#include "op/ops.h"
#include "plan/execute.h"
#include "plan/finish.h"
#include "plan/resizer.h"

static const takt_template *template_of(const takt_resizer *r)
{
    return r->plan->basis->template;
}

/* Whether only steps of some sizes are visited. */
static bool is_partial(const takt_resizer *r)
{
    return r->is_whole && r->has_after && r->visits.list != NULL;
}

static bool same_aliases(takt_resizer *r)
{
    const size_t nodes = r->plan->graph->count;
    if (is_partial(r) && r->has_aliases &&
        takt_visits_same_aliases(&r->visits, &r->b, r->reach, r->changed))
        return true;
    r->has_aliases = takt_builder_alias(&r->b) == TAKT_OK && takt_builder_join(&r->b) == TAKT_OK &&
                     memcmp(r->root, r->b.root, nodes * sizeof *r->root) == 0 &&
                     memcmp(r->is_alias, r->b.is_alias, nodes) == 0;
    return r->has_aliases;
}

/* Nothing to do if all results are empty, and no memory is needed for that. */
static void idle(const takt_step *s, const takt_task *t)
{
    (void)s;
    (void)t;
}

static bool is_empty(const takt_step *s)
{
    for (size_t i = 0; i < s->out_count; i++) {
        bool is_none = false;
        for (int d = 0; d < s->out[i].rank; d++)
            is_none = is_none || s->out[i].dim[d] == 0;
        if (!is_none)
            return false;
    }
    return s->out_count > 0;
}

/* Whether a step of the group depends on no size that has changed. */
static bool stays(const takt_resizer *r, const takt_group *group)
{
    return r->is_whole && r->has_after && (takt_reach_group(r->reach, group) & r->changed) == 0;
}

/* The step as compile_step of build.c begins it, but where it lies; `index` of them are before it,
 * and its scratch has `room` bytes. */
static bool compile_again(takt_resizer *r, takt_step *s, size_t index, size_t room)
{
    takt_builder *b = &r->b;
    const takt_step old = *s;
    r->compiled++;
    *s = (takt_step){.task_count = 1,
                     .node_count = old.node_count,
                     .name = old.name,
                     .does = old.does,
                     .nodes = old.nodes,
                     .isas = r->settings.isas,
                     .in = old.in,
                     .out = old.out,
                     .backend = old.backend,
                     .space = old.space,
                     .scratch_offset = old.scratch_offset,
                     .is_commit = old.is_commit,
                     .is_point = old.is_point};
    b->p.step = s;
    b->p.scratch_room = room;
    b->in_capacity = old.in_count;
    b->out_capacity = old.out_count;
    b->step_index = (int)index;
    b->answers->has_children = false;
    r->plan->step_count = index; /* those before it are all there is */
    takt_status status = old.backend->compile(&b->p);
    if (status == TAKT_OK && b->answers->has_children) /* whose sizes are known so far */
        status = takt_template_check_node(r->plan->graph, s->nodes[0]);
    if (s->kernel == NULL) {
        s->kernel = "generic";
        s->facts.is_generic = true;
    }
    if (is_empty(s)) {
        s->run = idle;
        s->scratch_bytes = s->scratch_each = 0;
        s->task_count = 1;
    }
    return status == TAKT_OK && s->in_count == old.in_count && s->out_count == old.out_count &&
           s->in == old.in && s->out == old.out;
}

/* Whether the step's results fit. */
static bool outputs_fit(const takt_resizer *r, const takt_step *s)
{
    for (size_t i = 0; i < s->out_count; i++) {
        const takt_view *v = &s->out[i];
        size_t bytes = (size_t)takt_dtype_bits(v->dtype);
        for (int d = 0; d < v->rank; d++)
            bytes *= (size_t)v->dim[d];
        if (v->offset + (bytes + 7) / 8 > r->room[v->buffer] || r->bases[v->buffer] == NULL)
            return false;
    }
    return true;
}

/* Constants that depend on sizes, by the kernels that computed them before. */
static bool constants_again(takt_resizer *r)
{
    takt_builder *b = &r->b;
    const size_t count = r->plan->step_count;
    bool is_good = true;
    b->answers = &r->sized;
    b->in_prologue = true;
    for (size_t i = 0; i < r->sized.step_count && is_good; i++) {
        takt_step *s = &r->sized.steps[i].step;
        takt_fault_slot fault = {.element = TAKT_FAULT_NONE};
        b->p.group = r->sized.steps[i].group;
        if (stays(r, b->p.group)) {
            r->sized.at = r->sized_after[i];
            continue;
        }
        is_good = compile_again(r, s, 0, SIZE_MAX) && outputs_fit(r, s);
        r->sized_after[i] = r->sized.at;
        s->scratch_bytes = takt_round_up(s->scratch_bytes, TAKT_ALIGN);
        is_good = is_good && s->scratch_bytes + s->scratch_each <= r->constant_scratch_bytes;
        if (is_good)
            takt_execute_constant(s, r->bases, r->constant_scratch, &fault, NULL);
        is_good = is_good && fault.element == TAKT_FAULT_NONE;
    }
    r->plan->step_count = count;
    b->in_prologue = false;
    b->answers = &r->answers;
    return is_good && r->sized.at == r->sized.count;
}

static bool copy_again(takt_resizer *r, takt_step *s)
{
    const takt_answer *block = takt_answers_next(&r->b, TAKT_ASKED_BLOCK);
    const takt_answer *from =
        block != NULL && r->answers.at < r->answers.count ? &r->answers.list[r->answers.at] : NULL;
    takt_view view;
    size_t *bytes = block != NULL ? (size_t *)(uintptr_t)block->at : NULL;
    if (from == NULL || takt_planner_view(&r->b.p, from->node, &view) != TAKT_OK ||
        takt_answers_next(&r->b, TAKT_ASKED_BLOCK) == NULL ||
        !takt_type_bytes(takt_type_of(r->plan->graph, from->node), bytes))
        return false;
    const uint32_t buffer = s->out[0].buffer;
    s->in[0] = view;
    s->out[0] = view;
    s->out[0].offset = 0;
    s->out[0].buffer = buffer;
    s->cost.bytes = 2 * (double)*bytes;
    r->plan->buffers[buffer].bytes = *bytes;
    return *bytes <= r->room[buffer];
}

static bool copy_twin(takt_resizer *r, size_t index)
{
    const bool is_copied = r->has_after && takt_twins_copy(r->twins, &r->b, index);
    r->compiled += is_copied;
    return is_copied;
}

/* An element-wise step has results of one shape; sizes that a run finds may broadcast some. */
static bool results_agree(const takt_resizer *r, const takt_step *s)
{
    for (size_t i = 0; i < s->node_count; i++) {
        const takt_op *op = r->plan->graph->nodes[s->nodes[i]].op;
        if ((op->traits & TAKT_ELEMENTWISE) == 0 && op != &takt_op_broadcast)
            return true;
    }
    const takt_view *y = s->out;
    for (size_t i = 1; i < s->out_count; i++)
        if (y[i].rank != y->rank || memcmp(y[i].dim, y->dim, (size_t)y->rank * sizeof *y->dim) != 0)
            return false;
    return true;
}

static bool compile_step(takt_resizer *r, size_t index)
{
    takt_step *s = &r->plan->steps[index];
    return compile_again(r, s, index, r->scratch[index]) && results_agree(r, s) &&
           takt_step_scratch(s, r->plan->threads) <= r->scratch[index];
}

/* The steps that depend on a size that has changed; the others are not even read. */
static bool compile_some(takt_resizer *r)
{
    takt_visits *v = &r->visits;
    takt_builder *b = &r->b;
    takt_plan *plan = r->plan;
    const size_t count = plan->step_count;
    bool is_good = true;
    takt_twins_begin(r->twins);
    const takt_visited of = {plan, &r->answers, r->after};
    for (size_t k = 0; k < v->picked_count && is_good; k++) {
        const size_t i = v->picked[k];
        takt_visit *visit = &v->list[i];
        takt_visits_ahead(v, &of, k);
        b->p.group = &b->groups[b->sequence[visit->position]];
        b->position = (int32_t)visit->position;
        r->answers.at = i > 0 ? r->after[i - 1] : 0;
        is_good = copy_twin(r, i) || (compile_step(r, i) && r->answers.at == r->after[i]);
        visit->is_parallel = takt_step_is_parallel(&plan->steps[i]);
    }
    plan->step_count = count;
    plan->is_parallel = false;
    for (size_t i = 0; i < count; i++)
        plan->is_parallel |= v->list[i].is_parallel;
    return is_good;
}

static bool compile_all(takt_resizer *r)
{
    takt_builder *b = &r->b;
    takt_plan *plan = r->plan;
    const size_t count = plan->step_count;
    bool is_good = true;
    size_t i = 0;
    r->answers.at = 0;
    plan->is_parallel = false;
    takt_twins_begin(r->twins);
    for (size_t k = 0; k < b->sequence_count && is_good; k++) {
        b->p.group = &b->groups[b->sequence[k]];
        b->position = (int32_t)k;
        if (b->is_constant[b->p.group->nodes[0]])
            continue;
        for (; is_good && i < count && plan->steps[i].nodes == NULL; i++) /* before the commits */
            is_good = copy_again(r, &plan->steps[i]);
        if (is_good && i < count && (stays(r, b->p.group) || copy_twin(r, i)))
            r->answers.at = r->after[i];
        else
            is_good = is_good && i < count && compile_step(r, i);
        if (is_good) { /* a failure leaves what is known of the step, which may be copied later */
            r->after[i] = r->answers.at;
            plan->is_parallel |= takt_step_is_parallel(&plan->steps[i]);
            i++;
        }
    }
    plan->step_count = count;
    for (; is_good && i < count; i++) /* packing depends on no size */
        is_good = plan->steps[i].packs_state || copy_again(r, &plan->steps[i]);
    return is_good && i == count && r->answers.at == r->answers.count;
}

static bool buffers_fit(takt_resizer *r)
{
    takt_plan *plan = r->plan;
    const bool is_some = is_partial(r);
    for (size_t i = 0; i < plan->buffer_count; i++) {
        takt_buffer *buffer = &plan->buffers[i];
        if (is_some && (r->visits.buffers[i] & r->changed) == 0)
            continue;
        if (buffer->value == TAKT_NONE || buffer->place == TAKT_PLACE_CONSTANT)
            continue;
        if (!takt_type_bytes(takt_type_of(plan->graph, buffer->value), &buffer->bytes) ||
            (buffer->bytes > r->room[i] && buffer->place != TAKT_PLACE_INPUT))
            return false;
    }
    return true;
}

/* Recomputes constants of a size used before, with the steps that computed them then. */
static bool recompute_constants(takt_resizer *r)
{
    bool is_good = true;
    for (size_t i = 0; i < r->sized.step_count && is_good; i++) {
        takt_fault_slot fault = {.element = TAKT_FAULT_NONE};
        takt_execute_constant(&r->sized.steps[i].step, r->bases, r->constant_scratch, &fault, NULL);
        is_good = fault.element == TAKT_FAULT_NONE;
    }
    return is_good;
}

/* Plans of subgraphs, which keep more or less the same sizes themselves. */
static bool resize_children(takt_resizer *r)
{
    for (size_t i = 0; i < r->answers.count; i++) {
        const takt_graph *graph;
        bool done = true;
        if (r->answers.list[i].what == TAKT_ASKED_CHILD &&
            (takt_child_resize(&r->answers.list[i], r->cells, r->plan->name_count, &graph, &done) !=
                 TAKT_OK ||
             !done))
            return false;
    }
    return true;
}

/* A size used before: its steps are restored. */
static bool set_kept(takt_resizer *r, const int64_t *sizes)
{
    const takt_kept_source source = takt_resizer_source(r);
    memcpy(r->cells, sizes, r->plan->name_count * sizeof *sizes);
    if (takt_sizes_run(&template_of(r)->sizes, r->cells) != TAKT_OK)
        return false;
    takt_template_write(template_of(r), r->cells, r->plan->graph);
    if (!takt_kept_get(r->kept, &source, sizes))
        return false;
    takt_visits_renew(&r->visits, r->plan);
    r->has_aliases = false; /* which only compiling needs */
    return resize_children(r) && recompute_constants(r) && buffers_fit(r);
}

static takt_status put(takt_resizer *r, const int64_t *sizes)
{
    memcpy(r->cells, sizes, r->plan->name_count * sizeof *sizes);
    TAKT_TRY(takt_sizes_run(&template_of(r)->sizes, r->cells));
    return takt_template_put(template_of(r), r->cells, r->plan->graph);
}

/* All steps have been compiled: what the next size needs to know of them. */
static void take_note(takt_resizer *r)
{
    const takt_named named = {template_of(r)->graph, r->scratch};
    if (!r->has_after) {
        takt_twins_find(r->twins, &r->b, &named, r->after);
        takt_visits_find(&r->visits, &r->b, r->reach);
    }
    r->has_after = true;
    takt_visits_renew(&r->visits, r->plan);
}

takt_status takt_resizer_set(takt_resizer *r, const int64_t *sizes, bool *done)
{
    const size_t bytes = r->plan->name_count * sizeof *sizes;
    r->changed = 0;
    for (size_t i = 0; i < r->plan->name_count; i++)
        r->changed |= sizes[i] != r->sizes[i] ? takt_name_bit(i) : 0;
    if (r->is_whole && r->changed == 0) {
        *done = true;
        return TAKT_OK;
    }
    const bool is_known = takt_resizer_has(r, sizes);
    *done = is_known && set_kept(r, sizes);
    if (is_known)
        r->is_whole = *done;
    if (*done) {
        memmove(r->sizes, sizes, bytes);
        return TAKT_OK;
    }
    const bool is_some = is_partial(r);
    if (is_some) {
        takt_visits_pick(&r->visits, r->plan, r->changed);
        takt_visits_begin(&r->visits, &(takt_visited){r->plan, &r->answers, r->after});
    }
    const takt_status status = put(r, sizes);
    if (status != TAKT_OK)
        return put(r, r->sizes) == TAKT_OK ? status : TAKT_ERR_INTERNAL;
    r->answers.is_replay = r->sized.is_replay = true;
    r->answers.is_rigid = r->sized.is_rigid = false;
    r->sized.at = 0;
    takt_error before;
    takt_error_copy(r->ctx, &before);
    *done = same_aliases(r) && constants_again(r) && (is_some ? compile_some(r) : compile_all(r)) &&
            buffers_fit(r);
    if (*done && !is_some)
        take_note(r);
    r->is_whole = *done;
    if (*done) {
        const takt_kept_source source = takt_resizer_source(r);
        memmove(r->sizes, sizes, bytes);
        takt_kept_offer(r->kept, &source, sizes);
    } else {
        takt_error_put_back(r->ctx, &before); /* a separate plan will do */
    }
    return TAKT_OK;
}

takt_status takt_resizer_set_some(takt_resizer *r, const int64_t *sizes, size_t count, bool *done)
{
    *done = false;
    if (!takt_resizer_is_sizable(r))
        return TAKT_OK;
    memcpy(r->wanted, sizes,
           (count < r->plan->name_count ? count : r->plan->name_count) * sizeof *sizes);
    return takt_resizer_set(r, r->wanted, done);
}

bool takt_resizer_has(const takt_resizer *r, const int64_t *sizes)
{
    const takt_kept_source source = {r->plan, &r->answers, (takt_answers *)(uintptr_t)&r->sized};
    return takt_kept_has(r->kept, &source, sizes);
}

uint64_t takt_resizer_compiled(const takt_resizer *r)
{
    return r->compiled;
}
