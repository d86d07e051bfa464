/* child.c - plans of subgraphs: the bodies of loops and the branches of conditions. */
#include "pass/pass.h"
#include "plan/answers.h"
#include "plan/builder.h"
#include "plan/repeat.h"

/* The same stages as for a whole model; sizes were put in when its own were. */
static takt_status prepare(const takt_planner *p, const takt_plan_settings *s,
                           const takt_graph *from, takt_graph **out)
{
    const takt_pipeline_options pipeline = {.choice.off = s->passes_off};
    takt_graph *first = NULL, *lowered = NULL;
    takt_status status = takt_pipeline_run(p->ctx, from, &pipeline, &first);
    if (status == TAKT_OK)
        status = takt_graph_lower(first, takt_plan_keeps, (void *)(uintptr_t)s, &lowered);
    takt_graph *last = NULL;
    if (status == TAKT_OK)
        status = takt_pipeline_run(p->ctx, lowered, &pipeline, &last);
    takt_graph_destroy(first);
    takt_graph_destroy(lowered);
    if (status != TAKT_OK || s->precision == TAKT_F32) {
        *out = last;
        return status;
    }
    status = takt_graph_narrow(last, s->precision, NULL, out);
    takt_graph_destroy(last);
    return status;
}

takt_status takt_planner_child(takt_planner *p, const takt_graph *g, takt_plan **child)
{
    takt_answers_give_up(takt_builder_of(p));
    takt_graph *ready = NULL;
    takt_plan_settings settings = *p->settings;
    settings.threads = 1;
    settings.memory_limit = 0; /* its arena counts in the parent's */
    settings.donated = NULL;
    settings.rooms = NULL;
    settings.basis = NULL; /* its constants are of nodes of the parent's graph, too */
    settings.again_count = settings.alone_count = 0; /* those are nodes of the parent's graph */
    if (settings.backend->device != NULL)            /* bodies run inside a step of the host */
        settings.backend = settings.fallback;
    TAKT_TRY(prepare(p, &settings, g, &ready));
    *child = NULL;
    const takt_status status = takt_repeat_finds(ready)
                                   ? takt_repeat_create(p->ctx, ready, &settings, child)
                                   : takt_plan_build(p->ctx, ready, &settings, child);
    takt_graph_destroy(ready);
    if (status == TAKT_OK) {
        (*child)->sibling = p->plan->child;
        p->plan->child = *child;
        if (p->settings->memory_limit > 0 && takt_repeat_of(*child) != NULL)
            takt_repeat_limit(takt_repeat_of(*child));
    }
    return status;
}
