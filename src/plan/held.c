/* held.c - a plan's allocated bytes, exactly: the guarantee that nothing else is kept. */
#include "ir/held.h"

#include "plan/bodies.h"
#include "plan/resizer.h"

static void tally_basis(takt_tally *t, takt_basis *b)
{
    if (b == NULL || b->counted == t->tick)
        return;
    b->counted = t->tick;
    t->bytes += sizeof *b + b->key_bytes + b->body_capacity * sizeof *b->bodies;
    for (size_t i = 0; i < b->body_count; i++)
        tally_basis(t, b->bodies[i].basis); /* subgraphs are nested to a limited depth */
    takt_tally_packs(t, b->packs);
    if (b->template != NULL) {
        t->bytes += takt_template_bytes(b->template);
        takt_tally_graph(t, b->template->graph);
    }
}

/* What its steps read. */
static void tally_values(takt_tally *t, const takt_plan *plan)
{
    for (size_t i = 0; i < plan->constant_count; i++)
        takt_tally_tensor(t, &plan->constants[i]);
    for (size_t i = 0; plan->initial != NULL && i < plan->graph->slot_count; i++)
        takt_tally_tensor(t, &plan->initial[i]);
}

static void tally(takt_tally *t, const takt_plan *plan)
{
    t->bytes += sizeof *plan + takt_arena_bytes(&plan->arena);
    takt_tally_graph(t, plan->graph);
    tally_values(t, plan);
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling) {
        tally_basis(t, child->basis);
        tally(t, child); /* subgraphs are nested to a limited depth */
    }
    for (const takt_plan *other = plan->variants; other != NULL; other = other->variant)
        tally(t, other); /* which does not have one itself */
}

void takt_tally_plan(takt_tally *t, const takt_plan *plan)
{
    tally_basis(t, plan->basis);
    tally(t, plan);
}

uint64_t takt_tally_kept(takt_tally *t, const takt_plan *plan)
{
    tally_values(t, plan);
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling)
        tally(t, child);
    const uint64_t read = t->bytes;
    takt_tally_graph(t, plan->graph);
    tally_basis(t, plan->basis);
    return t->bytes - read;
}

/* Its memory besides its plan; a child's plan is counted with that of its parent. */
static void tally_tables(takt_tally *t, const takt_resizer *r)
{
    const takt_answers *both[] = {&r->answers, &r->sized};
    t->bytes += sizeof *r + takt_arena_bytes(&r->b.scratch) + takt_kept_bytes(r->kept);
    t->bytes += r->constant_scratch_bytes;
    for (size_t i = 0; i < 2; i++) {
        const takt_answers *a = both[i];
        t->bytes += a->capacity * sizeof *a->list + a->step_capacity * sizeof *a->steps;
        for (size_t k = 0; k < a->count; k++)
            if (a->list[k].resizer != NULL)
                tally_tables(t, a->list[k].resizer); /* depth is limited */
    }
}

void takt_tally_resizer(takt_tally *t, const takt_resizer *r)
{
    takt_tally_plan(t, r->plan);
    tally_tables(t, r);
}
