/* forms.c - packed forms of trained weights.
 *
 * A constant is packed when the plan is made. A weight that is state changes from time to time, so
 * its packed forms are state as well: sessions keep them next to the value, the run that changes
 * the value repacks them in its commit phase, and all other runs just read them. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "plan/answers.h"
#include "plan/builder.h"
#include "plan/rematerialise.h"

/* Caches are written a row at a time, and read in between. */
static bool is_cache(const takt_builder *b, takt_id state)
{
    const takt_id next = b->p.graph->slots[b->port_of[state]].next;
    return next != TAKT_NONE && b->p.graph->nodes[b->root[next]].op == &takt_op_update_slice;
}

/* A training step changes every weight, so its forms would be packed in every run anyway: products
 * pack their operands, and no memory is kept for them. */
bool takt_state_has_forms(const takt_builder *b, takt_id node)
{
    const takt_node *n = &b->p.graph->nodes[node];
    const takt_plan_settings *s = b->p.settings;
    return n->op == &takt_op_state && takt_dtype_is_float(n->type->dtype) &&
           b->space == TAKT_HOST && b->space_of[node] == TAKT_HOST && !b->in_prologue && s->reuse &&
           s->in_place && s->hint != TAKT_HINT_MEMORY && s->memory_limit == 0 &&
           !takt_is_training_graph(b->p.graph) && !is_cache(b, node);
}

bool takt_planner_is_kept(const takt_planner *p, takt_id node)
{
    const takt_builder *b = (const takt_builder *)p;
    const takt_id root = b->root[node];
    if (p->is_constant[node])
        return !b->in_prologue;
    return takt_state_has_forms(b, root) || (b->is_derived[root] && !b->in_prologue);
}

/* ---- sources ---- */

/* The state whose elements these are, and the derived values in between, the last one first. */
static takt_id source_of(const takt_builder *b, takt_id node, takt_id chain[TAKT_DERIVED_MOST],
                         size_t *count)
{
    takt_id root = b->root[node];
    for (*count = 0; b->is_derived[root]; root = b->root[b->p.graph->nodes[root].in[0]])
        chain[(*count)++] = root;
    return root;
}

/* "" for a state itself; else how the value is derived from it. */
static const char *way_to(const takt_builder *b, takt_id node)
{
    const takt_graph *g = b->p.graph;
    const char *way = "";
    char type[TAKT_TYPE_TEXT];
    while (way != NULL && g->nodes[node].op != &takt_op_state) {
        const takt_node *n = &g->nodes[node];
        const takt_attr *perm = n->op == &takt_op_transpose ? takt_node_attr(n, "perm") : NULL;
        way = takt_arena_format(&b->p.plan->arena, "%s%s %s+%zu ", way, n->op->name,
                                takt_type_text(g->dims, n->type, type), b->root_offset[node]);
        for (uint32_t i = 0; way != NULL && perm != NULL && i < perm->count; i++)
            way = takt_arena_format(&b->p.plan->arena, "%s%lld ", way, (long long)perm->i64s[i]);
        node = n->in[0];
    }
    return way;
}

/* ---- requests ---- */

typedef struct filler {
    takt_fill_fn *fill;
    void *user;
} filler;

static void run_filler(const takt_step *s, const takt_task *t)
{
    const filler *f = s->data;
    (void)f->fill(f->user, takt_view_data(t, &s->in[0]), takt_view_data(t, &s->out[0]));
}

static takt_state_form *find(const takt_builder *b, uint32_t slot, const takt_packer *how,
                             const char *format)
{
    for (size_t i = 0; i < b->form_count; i++) {
        takt_state_form *f = &b->forms[i];
        if (f->slot == slot && f->bytes == how->bytes && f->fill == how->fill &&
            f->pack.run == how->run && strcmp(f->format, format) == 0)
            return f;
    }
    return NULL;
}

static takt_view flat(takt_dtype dtype, size_t count, uint32_t buffer)
{
    return (takt_view){
        .dtype = dtype, .rank = 1, .buffer = buffer, .dim = {(int64_t)count}, .stride = {1}};
}

/* Where the value is while it is packed: a state in its slot, a derived value in the arena. */
static takt_status lay_value(takt_builder *b, takt_id node, uint32_t *buffer)
{
    const takt_id root = b->root[node];
    takt_buffer room = {.place = TAKT_PLACE_ARENA,
                        .first = TAKT_AT_BEGIN,
                        .last = TAKT_AT_BEGIN,
                        .value = TAKT_NONE};
    if (!b->is_derived[root])
        return takt_builder_buffer(b, root, buffer);
    if (!takt_type_bytes(b->p.graph->nodes[root].type, &room.bytes))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "a weight is too large");
    return takt_builder_new_buffer(b, room, buffer);
}

static takt_status make(takt_builder *b, takt_id node, const takt_packer *how, const char *format,
                        takt_state_form *form)
{
    const takt_type *type = b->p.graph->nodes[node].type;
    takt_arena *arena = &b->p.plan->arena;
    takt_view *views = takt_arena_array(arena, 2, sizeof *views);
    const takt_buffer buffer = {.place = TAKT_PLACE_FORM,
                                .index = (uint32_t)b->form_count,
                                .bytes = how->bytes,
                                .first = -1,
                                .last = TAKT_FOREVER,
                                .value = TAKT_NONE};
    takt_id chain[TAKT_DERIVED_MOST];
    uint32_t from, to;
    size_t count, deep;
    if (views == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(lay_value(b, node, &from));
    TAKT_TRY(takt_builder_new_buffer(b, buffer, &to));
    (void)takt_type_count(type, &count); /* the value has a buffer already */
    views[0] = flat(type->dtype, count, from);
    views[0].offset = b->root_offset[node];
    views[1] = flat(TAKT_U8, how->bytes, to);
    *form = (takt_state_form){.slot = b->port_of[source_of(b, node, chain, &deep)],
                              .format = format,
                              .fill = how->fill,
                              .bytes = how->bytes,
                              .value = b->root[node]};
    form->pack =
        (takt_step){.kind = "pack",
                    .kernel = "pack",
                    .name = takt_arena_format(arena, "%s: pack %s",
                                              b->p.graph->slots[form->slot].name, how->format),
                    .run = how->run,
                    .data = how->data,
                    .facts.work = TAKT_WORK_MOVE,
                    .in = &views[0],
                    .in_count = 1,
                    .out = &views[1],
                    .out_count = 1,
                    .task_count = how->parts,
                    .scratch_bytes = how->room,
                    .cost.bytes = 2 * (double)how->bytes,
                    .packs_state = true,
                    .backend = b->p.step->backend,
                    .isas = b->p.step->isas};
    return form->pack.name != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_planner_form(takt_planner *p, takt_id node, const takt_packer *how, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
    if (takt_answers_replayed(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_PACK);
        if (a == NULL || a->node != node || a->bytes != how->bytes ||
            strcmp(a->format, how->format) != 0)
            return TAKT_OTHER_QUESTION;
        return takt_builder_add_raw(b, a->buffer, how->bytes, index);
    }
    takt_id chain[TAKT_DERIVED_MOST];
    size_t deep;
    const uint32_t slot = b->port_of[source_of(b, node, chain, &deep)];
    const char *way = way_to(b, node);
    const char *format =
        way != NULL ? takt_arena_format(&p->plan->arena, "%s%s", way, how->format) : NULL;
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    takt_state_form *form = find(b, slot, how, format);
    if (form == NULL) {
        void *forms = b->forms;
        const takt_status status =
            takt_mem_grow(p->ctx, &forms, &b->form_capacity, b->form_count + 1, sizeof *b->forms);
        b->forms = forms;
        TAKT_TRY(status);
        form = &b->forms[b->form_count];
        TAKT_TRY(make(b, node, how, format, form));
        b->form_count++;
    }
    const uint32_t buffer = form->pack.out[0].buffer;
    TAKT_TRY(takt_answers_keep(b, (takt_answer){.what = TAKT_ASKED_PACK,
                                                .node = node,
                                                .buffer = buffer,
                                                .bytes = how->bytes,
                                                .format = format + strlen(way)}));
    return takt_builder_add_raw(b, buffer, how->bytes, index);
}

takt_status takt_builder_fill_form(takt_builder *b, const takt_pack_name *name, void *user,
                                   size_t *index)
{
    filler *f = takt_planner_get(&b->p, sizeof *f);
    if (f == NULL)
        return takt_answers_replayed(b) ? TAKT_OTHER_QUESTION : TAKT_ERR_MEMORY;
    *f = (filler){name->fill, user};
    const takt_packer how = {.format = name->format,
                             .bytes = name->bytes,
                             .run = run_filler,
                             .data = f,
                             .fill = name->fill,
                             .parts = 1};
    return takt_planner_form(&b->p, name->node, &how, index);
}

/* ---- steps before it ---- */

/* The step that makes a derived value where it is packed. */
static takt_status make_one(takt_builder *b, takt_id node, uint32_t buffer, takt_step *step)
{
    uint32_t *place = &b->p.plan->buffer_of[node];
    const uint32_t was = *place; /* others may read it directly */
    const takt_view view = b->p.plan->view_of[node];
    *place = buffer;
    const takt_status status = takt_builder_step(b, &b->groups[b->group_index[node]], step);
    *place = was;
    b->p.plan->view_of[node] = view;
    b->p.plan->buffers[buffer].last = TAKT_AT_BEGIN;
    step->packs_state = true;
    return status;
}

static takt_status make_first(takt_builder *b, takt_state_form *form)
{
    takt_plan *plan = b->p.plan;
    takt_id chain[TAKT_DERIVED_MOST];
    uint32_t was[TAKT_DERIVED_MOST];
    size_t count;
    (void)source_of(b, form->value, chain, &count);
    form->first = takt_arena_array(&plan->arena, count, sizeof *form->first);
    if (form->first == NULL)
        return TAKT_ERR_MEMORY;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < count; i++)
        was[i] = plan->buffer_of[chain[i]];
    for (size_t i = count; status == TAKT_OK && i-- > 0;) {
        uint32_t buffer = form->pack.in[0].buffer;
        if (i > 0)
            status = lay_value(b, chain[i], &buffer);
        if (status == TAKT_OK)
            status = make_one(b, chain[i], buffer, &form->first[form->first_count++]);
        plan->buffer_of[chain[i]] = buffer; /* for the next one */
    }
    for (size_t i = 0; i < count; i++)
        plan->buffer_of[chain[i]] = was[i];
    return status;
}

takt_status takt_builder_settle_forms(takt_builder *b)
{
    const takt_builder was = *b;
    takt_status status = TAKT_OK;
    b->answers = NULL; /* no step of the plan requests it */
    for (; status == TAKT_OK && b->settled_forms < b->form_count; b->settled_forms++)
        status = make_first(b, &b->forms[b->settled_forms]);
    b->answers = was.answers;
    b->p.step = was.p.step;
    b->p.group = was.p.group;
    b->in_capacity = was.in_capacity;
    b->out_capacity = was.out_capacity;
    return status;
}

/* At the beginning of a run the arena is empty. */
static takt_status place_step(takt_builder *b, takt_step *step, size_t *end)
{
    const size_t parts = step->task_count == 1 ? 1 : (size_t)b->p.plan->threads;
    size_t all;
    step->scratch_offset = *end;
    if (takt_size_align(step->scratch_each, TAKT_ALIGN, &step->scratch_each) &&
        takt_size_mul(step->scratch_each, parts, &all) &&
        takt_size_align(step->scratch_bytes, TAKT_ALIGN, &step->scratch_bytes) &&
        takt_size_add(all, step->scratch_bytes, &all) && takt_size_add(*end, all, end))
        return TAKT_OK;
    return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "the scratch of step %s is too large", step->name);
}

takt_status takt_builder_place_forms(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < b->form_count; i++) {
        takt_state_form *f = &b->forms[i];
        size_t end = 0, bytes;
        for (size_t k = 0; k < f->first_count; k++) {
            takt_buffer *value = &plan->buffers[f->first[k].out[0].buffer];
            value->offset = end;
            if (!takt_size_align(value->bytes, TAKT_ALIGN, &bytes) ||
                !takt_size_add(end, bytes, &end))
                return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "a weight is too large");
        }
        for (size_t k = 0; k < f->first_count; k++)
            TAKT_TRY(place_step(b, &f->first[k], &end));
        TAKT_TRY(place_step(b, &f->pack, &end));
        takt_plan_space *s = &plan->space[TAKT_HOST];
        s->arena = end > s->arena ? end : s->arena;
        s->lower_bound = end > s->lower_bound ? end : s->lower_bound;
        s->unshared = end > s->unshared ? end : s->unshared;
    }
    return TAKT_OK;
}

/* ---- the commit phase ---- */

/* The same views, with one buffer replaced by another. */
static takt_view *elsewhere(takt_builder *b, const takt_view *views, size_t count, uint32_t old,
                            uint32_t new)
{
    takt_view *made = takt_arena_copy(&b->p.plan->arena, views, count * sizeof *views);
    for (size_t i = 0; made != NULL && i < count; i++)
        made[i].buffer = made[i].buffer == old ? new : made[i].buffer;
    return made;
}

/* One of the steps that pack a form. It reads `*from` instead of `old`; unless it is the last, both
 * are then set to its result. */
static takt_status push_step(takt_builder *b, const takt_step *of, bool is_last, uint32_t *old,
                             uint32_t *from)
{
    takt_step step = *of;
    const int at = (int)b->p.plan->step_count;
    step.is_commit = true;
    step.in = elsewhere(b, of->in, of->in_count, *old, *from);
    if (!is_last) {
        *old = of->out[0].buffer;
        takt_buffer room = b->p.plan->buffers[*old];
        room.first = at;
        room.last = at + 1;
        TAKT_TRY(takt_builder_new_buffer(b, room, from));
        step.out = elsewhere(b, of->out, of->out_count, *old, *from);
    }
    return step.in != NULL && step.out != NULL ? takt_builder_push(b, &step) : TAKT_ERR_MEMORY;
}

takt_status takt_builder_pack_state(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < b->form_count; i++) {
        const takt_state_form *form = &b->forms[i];
        const takt_plan_slot *slot = &plan->slots[form->slot];
        if (!slot->is_changed)
            continue;
        uint32_t old = plan->buffer_of[b->p.graph->slots[form->slot].value], from = old;
        if (slot->is_swapped || slot->from != UINT32_MAX) /* its future contents are elsewhere */
            TAKT_TRY(takt_builder_buffer(b, b->p.graph->slots[form->slot].next, &from));
        for (size_t k = 0; k < form->first_count; k++)
            TAKT_TRY(push_step(b, &form->first[k], false, &old, &from));
        TAKT_TRY(push_step(b, &form->pack, true, &old, &from));
    }
    return TAKT_OK;
}
