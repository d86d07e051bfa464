/* child.c - plans of subgraphs: the bodies of loops and the branches of conditions. */
#include "base/error_record.h"
#include "plan/answers.h"
#include "plan/bodies.h"
#include "plan/builder.h"
#include "plan/repeat.h"
#include "plan/resize.h"

/* ---- making one ---- */

/* From `g`, which has the sizes of the enclosing graph. */
static takt_status by_numbers(takt_planner *p, const takt_plan_settings *settings,
                              const takt_graph *g, takt_plan **child)
{
    takt_graph *ready = NULL;
    takt_plan_settings s = *settings;
    TAKT_TRY(takt_child_prepare(p->ctx, &s, g, &ready));
    takt_status status = TAKT_OK;
    if (!takt_repeat_finds(ready)) {
        status = takt_plan_build(p->ctx, ready, &s, child);
    } else {
        takt_basis *own;
        status = takt_basis_create(ready, "", &own);
        if (status == TAKT_OK)
            status = takt_repeat_create(own, &s, child);
        takt_basis_release(own);
    }
    takt_graph_destroy(ready);
    return status;
}

/* From the basis for all sizes; it can be resized if the enclosing plan can. */
static takt_status by_names(takt_planner *p, const takt_plan_settings *settings, takt_basis *basis,
                            takt_answer *answer)
{
    takt_graph *g;
    takt_plan_settings s = *settings;
    s.basis = basis;
    if (basis->is_body)
        return takt_repeat_create(basis, &s, &answer->child);
    if (takt_builder_of(p)->answers != NULL)
        return takt_resizer_of_child(p->ctx, &s, &answer->resizer, &answer->child);
    TAKT_TRY(takt_template_size(basis->template, s.sizes, s.size_count, &g));
    const takt_status status = takt_plan_build(p->ctx, g, &s, &answer->child);
    takt_graph_destroy(g);
    return status;
}

static takt_status make(takt_planner *p, const takt_graph *g, takt_answer *answer)
{
    const takt_plan_settings settings = takt_child_settings(p->settings);
    const takt_error before = p->ctx->error;
    takt_basis *basis;
    TAKT_TRY(takt_bodies_get(p, g, &basis));
    takt_status status = TAKT_ERR_SHAPE;
    if (basis != NULL)
        status = by_names(p, &settings, basis, answer);
    if (status != TAKT_ERR_SHAPE)
        return status;
    p->ctx->error = before; /* a branch that cannot run at these sizes is a different graph */
    takt_answers_give_up(takt_builder_of(p));
    return by_numbers(p, &settings, g, &answer->child);
}

/* ---- other sizes ---- */

/* `g` is a subgraph of the graph that was resized: its inputs and results take their sizes from the
 * plan. */
static void put_ports(const takt_graph *from, const takt_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++)
        *(takt_type *)(uintptr_t)takt_type_of(g, g->inputs[i].id) =
            *takt_type_of(from, from->inputs[i].id);
    for (size_t i = 0; i < g->output_count; i++)
        *(takt_type *)(uintptr_t)takt_type_of(g, g->outputs[i].id) =
            *takt_type_of(from, from->outputs[i].id);
}

static takt_status again(takt_planner *p, const takt_graph *g, takt_plan **child)
{
    takt_builder *b = takt_builder_of(p);
    const takt_answer *answer = takt_answers_next(b, TAKT_ASKED_CHILD);
    bool done = false;
    if (answer == NULL)
        return TAKT_OTHER_QUESTION;
    const takt_graph *sized;
    TAKT_TRY(takt_child_resize(answer, p->settings->sizes, p->settings->size_count, &sized, &done));
    if (!done)
        return TAKT_OTHER_QUESTION;
    put_ports(sized, g);
    b->answers->has_children = true;
    *child = answer->child;
    return TAKT_OK;
}

takt_status takt_child_resize(const takt_answer *answer, const int64_t *sizes, size_t count,
                              const takt_graph **graph, bool *done)
{
    takt_plan *child = answer->child;
    if (child->body != NULL)
        return takt_repeat_resize(child->body, sizes, count, graph, done);
    *graph = child->graph;
    return takt_resizer_set_some(answer->resizer, sizes, count, done);
}

takt_status takt_planner_child(takt_planner *p, const takt_graph *g, takt_plan **child)
{
    takt_builder *b = takt_builder_of(p);
    takt_answer answer = {.what = TAKT_ASKED_CHILD};
    *child = NULL;
    if (takt_answers_replayed(b))
        return again(p, g, child);
    if (b->in_prologue)
        takt_answers_give_up(b);
    takt_status status = make(p, g, &answer);
    if (status == TAKT_OK) {
        answer.child->sibling = p->plan->child;
        p->plan->child = answer.child;
        if (p->settings->memory_limit > 0 && answer.child->body != NULL)
            takt_repeat_limit(answer.child->body);
        status = takt_answers_keep(b, answer);
    }
    if (status != TAKT_OK) /* else it is freed with the answers */
        takt_resizer_destroy(answer.resizer);
    *child = status == TAKT_OK ? answer.child : NULL;
    return status;
}

takt_status takt_planner_child_away(takt_planner *p, const takt_graph *g, takt_plan **child)
{
    takt_plan_settings settings = takt_child_settings(p->settings);
    settings.backend = p->settings->backend;
    settings.away_limit = 0; /* its memory counts in the parent's */
    *child = NULL;
    takt_answers_give_up(takt_builder_of(p)); /* other sizes are other plans */
    TAKT_TRY(by_numbers(p, &settings, g, child));
    (*child)->sibling = p->plan->child;
    p->plan->child = *child;
    return TAKT_OK;
}
