/* held.c - a session's allocated bytes, exactly: what it has besides its plan. */
#include "ir/held.h"
#include "api/cache.h"
#include "api/session/session.h"
#include "base/ctx.h"
#include "os/pool.h"
#include "plan/resize.h"

static uint64_t port_bytes(const takt_session_port *ports, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += ports[i].own != NULL && !ports[i].is_in_arena ? ports[i].own_bytes : 0;
    return bytes;
}

static uint64_t own_bytes(const takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    uint64_t bytes = takt_session_overhead(s->plan) - takt_session_range_bytes(s->plan);
    bytes += s->range != NULL ? s->range->bytes : 0;
    bytes += s->plan->state_bytes;
    bytes +=
        (s->arena_pages + (s->owns_arena ? s->arena_bytes : 0)) * (s->first_arena != NULL ? 2 : 1);
    bytes += port_bytes(s->inputs, g->input_count) + port_bytes(s->outputs, g->output_count);
    if (s->owns_pool)
        bytes += takt_pool_bytes(s->ctx, takt_pool_threads(s->pool));
    return bytes;
}

/* A plan that is not counted in the plan that the session was made for. */
static void tally_other(takt_tally *t, const takt_plan *top, const takt_plan *plan)
{
    const takt_plan *at = top->variants;
    while (at != NULL && at != plan)
        at = at->variant;
    if (plan != top && at == NULL)
        takt_tally_plan(t, plan);
}

uint64_t takt_session_held(const takt_session *s)
{
    if (s == NULL)
        return 0;
    const takt_plan *top = s->range != NULL ? s->range->top : s->plan;
    const takt_resizer *resizer = s->range != NULL ? s->range->resizer : NULL;
    takt_cache_lock(s->ctx);
    takt_tally t = {.tick = ++s->ctx->tick};
    takt_tally_plan(&t, top); /* memory shared with others belongs to the plan */
    const uint64_t planned = t.bytes;
    if (resizer != NULL)
        takt_tally_resizer(&t, resizer);
    if (resizer == NULL || takt_resizer_plan(resizer) != s->plan)
        tally_other(&t, top, s->plan);
    if (s->checker != NULL)
        tally_other(&t, top, s->checker->plan);
    takt_cache_unlock(s->ctx);
    return t.bytes - planned + own_bytes(s) + (s->checker != NULL ? own_bytes(s->checker) : 0);
}
