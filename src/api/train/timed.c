/* timed.c - a training step that times every step of its plan. */
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "base/mem.h"
#include "train/phase.h"

typedef struct record {
    takt_trainer *t;
    const takt_plan *plan; /* whose phases these are; or NULL */
    unsigned char *phase;  /* of every node */
    size_t room;
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
    const takt_step *s = &r->t->step.session->plan->steps[step];
    const takt_phase phase = s->node_count > 0 ? takt_phase_of(r->phase, s->nodes, s->node_count)
                             : s->is_commit    ? TAKT_PHASE_OPTIMIZER
                                               : TAKT_PHASE_FORWARD;
    r->sum[phase] += (double)(now(r) - r->started);
}

/* A plan of other sizes has other nodes. */
takt_status takt_timed_plan(void *user, const takt_plan *plan)
{
    record *r = user;
    void *block;
    if (plan == r->plan)
        return TAKT_OK;
    TAKT_TRY(takt_mem_zero(r->t->ctx, plan->graph->count, 1, "phases", &block));
    takt_mem_put(r->t->ctx, r->phase, r->room);
    r->phase = block;
    r->room = plan->graph->count;
    r->plan = plan;
    takt_phases(plan->graph, r->phase);
    return TAKT_OK;
}

takt_status takt_trainer_step_timed(takt_trainer *t, const takt_named_view *batch, size_t count,
                                    takt_step_result *result, takt_step_times *times)
{
    record r = {.t = t};
    const takt_watch watch = {.before = before, .after = after, .user = &r};
    t->watch = &watch;
    const takt_status status = takt_trainer_step(t, batch, count, result);
    t->watch = NULL;
    takt_mem_put(t->ctx, r.phase, r.room);
    if (times != NULL)
        *times = (takt_step_times){.forward_ns = r.sum[TAKT_PHASE_FORWARD],
                                   .gradient_ns = r.sum[TAKT_PHASE_GRADIENT],
                                   .optimizer_ns = r.sum[TAKT_PHASE_OPTIMIZER]};
    return status;
}
