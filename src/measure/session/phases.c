/* phases.c - the time of a training step: forward, gradient, optimizer. */
#include "measure/session/measure.h"
#include "train/phase.h"

static bool sum_phases(const takt_profile *p, takt_arena *arena, double ns[TAKT_PHASES])
{
    const takt_graph *g = p->plan->graph;
    unsigned char *phase = takt_arena_array(arena, g->count, 1);
    if (phase == NULL)
        return false;
    takt_phases(g, phase);
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_step *s = &p->plan->steps[i];
        const takt_phase of = s->node_count > 0 ? takt_phase_of(phase, s->nodes, s->node_count)
                              : s->is_commit    ? TAKT_PHASE_OPTIMIZER
                                                : TAKT_PHASE_FORWARD;
        ns[of] += p->rows[i].median_ns;
    }
    return true;
}

void takt_profile_phases(const takt_profile *p, takt_report *r)
{
    takt_arena arena;
    double ns[TAKT_PHASES] = {0};
    char figure[TAKT_FIGURE_TEXT];
    if (!takt_is_training_step(p->plan->graph))
        return;
    takt_arena_init(&arena, p->ctx);
    if (!sum_phases(p, &arena, ns))
        r->text.status = TAKT_ERR_MEMORY;
    takt_arena_deinit(&arena);
    if (r->is_json)
        takt_json_put_open(&r->json, "phases_ms", '{');
    else
        takt_text_add(&r->text, "training step:");
    for (int i = 0; i < TAKT_PHASES; i++) {
        const double share = p->steps_ns > 0 ? 100 * ns[i] / p->steps_ns : 0;
        if (r->is_json)
            takt_json_put_number(&r->json, takt_phase_names[i], ns[i] * 1e-6);
        else
            takt_text_add(&r->text, "%s %s %s (%.0f %%)", i > 0 ? "," : "", takt_phase_names[i],
                          takt_figure_time(ns[i], figure), share);
    }
    if (r->is_json)
        takt_json_close(&r->json, '}');
    else
        takt_text_add(&r->text, "\n");
}
