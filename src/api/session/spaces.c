/* spaces.c - a session's memory outside the host, and what backends hold for its segments. */
#include "api/session/session.h"
#include "plan/backend.h"

takt_status takt_session_get_spaces(takt_session *s)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 1; i < plan->space_count; i++) {
        const takt_plan_space *space = &plan->space[i];
        void *block;
        if (space->arena == 0)
            continue;
        TAKT_TRY(takt_space_get(s->ctx, space, "the arena", space->arena, &block));
        s->away[i].arena = block;
    }
    return TAKT_OK;
}

takt_status takt_session_open_parts(takt_session *s)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 1; i < plan->space_count; i++) {
        const takt_plan_space *space = &plan->space[i];
        TAKT_TRY(space->backend->session_open(space->device, plan, s->base, s->away[i].arena,
                                              &s->parts[i]));
        s->away[i].is_open = true;
    }
    return TAKT_OK;
}

void takt_session_put_spaces(takt_session *s)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 1; i < plan->space_count; i++) {
        const takt_plan_space *space = &plan->space[i];
        if (s->away[i].is_open)
            space->backend->session_close(s->parts[i]);
        if (s->away[i].arena != NULL)
            space->backend->device->put(space->device, s->away[i].arena, space->arena);
    }
}
