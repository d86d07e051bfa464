/* forms.c - packed forms of trained weights.
 *
 * A constant is packed when the plan is made. A weight that is state changes from time to time, so
 * its packed forms are state as well: sessions keep them beside the value, the run that changes the
 * value packs them anew in its commit phase, and all other runs read them as they are.
 */
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "plan/answers.h"
#include "plan/builder.h"
#include "plan/rematerialise.h"

/* A training step changes every weight, so that its forms would be packed in every run all the
 * same: products pack what they read, and no memory is kept for it.
 *
 * Packing must be unable to fail: it runs in the commit phase. Forms of other types than these
 * would be widened in memory that has to be found first. */
static bool has_forms(const takt_builder *b, takt_id node)
{
    const takt_node *n = &b->p.graph->nodes[node];
    const takt_plan_settings *s = b->p.settings;
    return n->op == &takt_op_state && (n->type->dtype == TAKT_F32 || n->type->dtype == TAKT_F64) &&
           b->space == TAKT_HOST && b->space_of[node] == TAKT_HOST && !b->in_prologue && s->reuse &&
           s->in_place && s->hint != TAKT_HINT_MEMORY && s->memory_limit == 0 &&
           !takt_is_training_graph(b->p.graph);
}

bool takt_planner_is_kept(const takt_planner *p, takt_id node)
{
    const takt_builder *b = (const takt_builder *)p;
    return (p->is_constant[node] && !b->in_prologue) || has_forms(b, node);
}

/* ---- asking for one ---- */

typedef struct filler {
    takt_fill_fn *fill;
    void *user;
} filler;

static void run_filler(const takt_step *s, const takt_task *t)
{
    const filler *f = s->data;
    (void)f->fill(f->user, takt_view_data(t, &s->in[0]), takt_view_data(t, &s->out[0]));
}

static takt_state_form *find(const takt_builder *b, uint32_t slot, const takt_packer *how)
{
    for (size_t i = 0; i < b->form_count; i++) {
        takt_state_form *f = &b->forms[i];
        if (f->slot == slot && f->bytes == how->bytes && f->fill == how->fill &&
            f->pack.run == how->run && strcmp(f->format, how->format) == 0)
            return f;
    }
    return NULL;
}

static takt_view flat(takt_dtype dtype, size_t count, uint32_t buffer)
{
    return (takt_view){
        .dtype = dtype, .rank = 1, .buffer = buffer, .dim = {(int64_t)count}, .stride = {1}};
}

static takt_status make(takt_builder *b, takt_id node, const takt_packer *how,
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
    uint32_t from, to;
    size_t count;
    if (views == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_builder_buffer(b, node, &from));
    TAKT_TRY(takt_builder_new_buffer(b, buffer, &to));
    (void)takt_type_count(type, &count); /* the value has a buffer already */
    views[0] = flat(type->dtype, count, from);
    views[1] = flat(TAKT_U8, how->bytes, to);
    *form = (takt_state_form){.slot = b->port_of[node],
                              .format = takt_arena_text(arena, how->format, strlen(how->format)),
                              .fill = how->fill,
                              .bytes = how->bytes};
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
                    .cost.bytes = 2 * (double)how->bytes,
                    .packs_state = true,
                    .backend = b->p.step->backend,
                    .isas = b->p.step->isas};
    return form->format != NULL && form->pack.name != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_planner_form(takt_planner *p, takt_id node, const takt_packer *how, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
    if (takt_answers_again(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_PACK);
        if (a == NULL || a->node != node || a->bytes != how->bytes ||
            strcmp(a->format, how->format) != 0)
            return TAKT_OTHER_QUESTION;
        return takt_builder_add_raw(b, a->buffer, how->bytes, index);
    }
    takt_state_form *form = find(b, b->port_of[node], how);
    if (form == NULL) {
        void *forms = b->forms;
        const takt_status status =
            takt_mem_grow(p->ctx, &forms, &b->form_capacity, b->form_count + 1, sizeof *b->forms);
        b->forms = forms;
        TAKT_TRY(status);
        form = &b->forms[b->form_count];
        TAKT_TRY(make(b, node, how, form));
        b->form_count++;
    }
    const uint32_t buffer = form->pack.out[0].buffer;
    TAKT_TRY(takt_answers_keep(b, (takt_answer){.what = TAKT_ASKED_PACK,
                                                .node = node,
                                                .buffer = buffer,
                                                .bytes = how->bytes,
                                                .format = form->format}));
    return takt_builder_add_raw(b, buffer, how->bytes, index);
}

takt_status takt_builder_fill_form(takt_builder *b, const takt_pack_name *name, void *user,
                                   size_t *index)
{
    filler *f = takt_planner_get(&b->p, sizeof *f);
    if (f == NULL)
        return takt_answers_again(b) ? TAKT_OTHER_QUESTION : TAKT_ERR_MEMORY;
    *f = (filler){name->fill, user};
    const takt_packer how = {.format = name->format,
                             .bytes = name->bytes,
                             .run = run_filler,
                             .data = f,
                             .fill = name->fill,
                             .parts = 1};
    return takt_planner_form(&b->p, name->node, &how, index);
}

/* ---- the commit phase ---- */

takt_status takt_builder_pack_state(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < b->form_count; i++) {
        const takt_state_form *form = &b->forms[i];
        const takt_plan_slot *slot = &plan->slots[form->slot];
        if (!slot->is_changed)
            continue;
        takt_step step = form->pack;
        step.is_commit = true;
        if (slot->is_swapped) { /* the value that the slot will have lies elsewhere so far */
            takt_view *from = takt_arena_array(&plan->arena, 1, sizeof *from);
            if (from == NULL)
                return TAKT_ERR_MEMORY;
            *from = step.in[0];
            from->buffer = plan->buffer_of[b->root[b->p.graph->slots[form->slot].next]];
            step.in = from;
        }
        TAKT_TRY(takt_builder_push(b, &step));
    }
    return TAKT_OK;
}
