/* timed.c - a training step that times every step of its plan. */
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "base/mem.h"
#include "train/phase.h"

typedef struct record {
    takt_trainer *t;
    uint64_t started;
    double sum[TAKT_PHASES];
} record;

static uint64_t now(const record *r)
{
    return r->t->ctx->now_ns(r->t->ctx->clock_user);
}

static void before(void *user, size_t step)
{
    (void)step;
    record *r = user;
    r->started = now(r);
}

static void after(void *user, size_t step)
{
    record *r = user;
    r->sum[r->t->phase[step]] += (double)(now(r) - r->started);
}

static takt_phase phase_of(const takt_step *s, const unsigned char *nodes)
{
    if (s->node_count > 0)
        return takt_phase_of(nodes, s->nodes, s->node_count);
    return s->is_commit ? TAKT_PHASE_OPTIMIZER : TAKT_PHASE_FORWARD;
}

takt_status takt_timed_phases(takt_trainer *t)
{
    const takt_plan *plan = t->step.session->plan;
    void *nodes, *steps;
    if (t->phase != NULL && t->phase_plan == plan && t->phase_count == plan->step_count)
        return TAKT_OK;
    takt_timed_forget(t);
    TAKT_TRY(takt_mem_zero(t->ctx, plan->graph->count, 1, "phases", &nodes));
    const takt_status status = takt_mem_zero(t->ctx, plan->step_count, 1, "phases", &steps);
    if (status == TAKT_OK) {
        t->phase = steps;
        t->phase_plan = plan;
        t->phase_count = plan->step_count;
        takt_phases(plan->graph, nodes);
        for (size_t i = 0; i < plan->step_count; i++)
            t->phase[i] = (unsigned char)phase_of(&plan->steps[i], nodes);
    }
    takt_mem_put(t->ctx, nodes, plan->graph->count);
    return status;
}

void takt_timed_forget(takt_trainer *t)
{
    takt_mem_put(t->ctx, t->phase, t->phase_count);
    t->phase = NULL;
}

takt_status takt_trainer_step_timed(takt_trainer *t, const takt_named_view *batch, size_t count,
                                    takt_step_result *result, takt_step_times *times)
{
    record r = {.t = t};
    const takt_watch watch = {.before = before, .after = after, .user = &r};
    t->watch = &watch;
    const takt_status status = takt_trainer_step(t, batch, count, result);
    t->watch = NULL;
    if (times != NULL)
        *times = (takt_step_times){.forward_ns = r.sum[TAKT_PHASE_FORWARD],
                                   .gradient_ns = r.sum[TAKT_PHASE_GRADIENT],
                                   .optimizer_ns = r.sum[TAKT_PHASE_OPTIMIZER]};
    return status;
}
