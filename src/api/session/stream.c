/* stream.c - runs that are started without waiting: on the caller's stream, or by takt_run_async
 * without a thread. */
#include "api/session/session.h"
#include "os/fp.h"
#include "plan/backend.h"
#include "plan/finish.h"

const char *takt_session_cannot_begin(const takt_session *s, const char **step)
{
    const takt_plan *plan = s->plan;
    *step = NULL;
    if (plan->space_count < 2 || plan->step_count == 0)
        return "no step of the plan runs on a device";
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].space == TAKT_HOST || plan->steps[i].is_driven) {
            *step = plan->steps[i].name;
            return plan->steps[i].is_driven ? "the host decides what a step runs"
                                            : "a step runs on the host";
        }
    if (s->shared != NULL)
        return "the model has state";
    for (size_t i = 0; i < plan->segment_count; i++)
        if ((i > 0 && !takt_segment_goes_on(plan, i)) || plan->segments[i].is_point ||
            plan->segments[i].is_commit)
            return "its steps are several segments";
    if (plan->segments[0].backend->session_stream == NULL)
        return "its backend takes no stream";
    return s->checker != NULL ? "runs are checked by a second plan" : NULL;
}

takt_status takt_session_set_stream(takt_session *s, void *stream)
{
    const char *step, *why = takt_session_cannot_begin(s, &step);
    if (why != NULL) {
        takt_fail(s->ctx, TAKT_E_STATE, "the session cannot run on a stream: %s%s%.100s", why,
                  step != NULL ? ": " : "", step != NULL ? step : "");
        return takt_fail_hint(s->ctx, "`takt plan M -d cuda` says why a step is where it is");
    }
    s->stream = stream;
    return s->plan->segments[0].backend->session_stream(s->parts[s->plan->segments[0].space],
                                                        stream);
}

/* Whether the previous run must have ended: the host accesses memory that it uses. */
bool takt_session_must_end(const takt_session *s)
{
    for (size_t i = 0; i < s->plan->step_count; i++)
        if (s->plan->steps[i].can_fault)
            return true;
    for (size_t i = 0; i < s->plan->graph->input_count; i++)
        if (s->inputs[i].view.device == 0)
            return true;
    for (size_t i = 0; i < s->plan->graph->output_count; i++)
        if (s->outputs[i].view.device == 0)
            return true;
    return false;
}

takt_status takt_session_finish(takt_session *s)
{
    if (!s->is_begun)
        return TAKT_OK;
    s->is_begun = false;
    const takt_execution x = {.plan = s->plan,
                              .base = s->base,
                              .arena = s->arena,
                              .parts = s->parts,
                              .fault = &s->fault,
                              .error = &s->error};
    const uint64_t fp = takt_fp_enter();
    takt_status status = takt_execute_wait(&x);
    if (status == TAKT_OK)
        status = takt_session_copy_out(s);
    if (status == TAKT_OK)
        status = takt_session_check_clauses(s);
    takt_fp_leave(fp);
    return status;
}
