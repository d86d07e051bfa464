/* run.c - running: everything is prepared in advance, so a run only computes. */
#include <string.h>

#include "api/session/session.h"
#include "api/usage.h"
#include "base/mem.h"
#include "ir/normal.h"
#include "os/fp.h"

static takt_status ready(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    for (size_t i = 0; i < g->input_count; i++)
        if (s->inputs[i].view.data == NULL && s->inputs[i].own_bytes == 0) {
            TAKT_TRY(takt_session_own(s, TAKT_PLACE_INPUT, i)); /* it has no elements */
        } else if (s->inputs[i].view.data == NULL) {
            takt_error_set(&s->error, TAKT_E_STATE, "input %s has no data: bind a buffer to it",
                           s->input_descs[i].name);
            takt_error_node(&s->error, s->input_descs[i].name);
            return takt_error_hint(&s->error, "takt_session_bind binds one; takt_session_input "
                                              "gives the session's own to be written");
        }
    for (size_t i = 0; i < g->output_count; i++)
        if (s->outputs[i].view.data == NULL)
            TAKT_TRY(takt_session_own(s, TAKT_PLACE_OUTPUT, i));
    return TAKT_OK;
}

/* Index of the first element, row-major, that is not a bool, or -1. Views that are not dense are
 * read in place. */
static int64_t bad_bool(const takt_session_port *port)
{
    const takt_tensor_view *v = &port->view;
    const size_t bad = !port->is_view ? takt_bools_check(v->data, port->bytes) : 0;
    if (!port->is_view)
        return bad < port->bytes ? (int64_t)bad : -1;
    int64_t index[TAKT_MAX_RANK] = {0}, count = 0, at = 0;
    for (int d = 0; d < v->rank; d++)
        if (v->dims[d] == 0)
            return -1;
    for (;;) {
        if (((const uint8_t *)port->strided.data)[at] > 1)
            return count;
        int d = v->rank - 1;
        for (; d >= 0 && ++index[d] == v->dims[d]; d--) {
            at -= port->stride[d] * (v->dims[d] - 1);
            index[d] = 0;
        }
        if (d < 0)
            return -1;
        at += port->stride[d];
        count++;
    }
}

/* Bound buffers hold arbitrary bytes from callers; the rest of the run relies on bools being 0 or
 * 1. */
static takt_status check_bools(takt_session *s)
{
    for (size_t i = 0; i < s->plan->graph->input_count; i++) {
        const int64_t bad = s->input_descs[i].dtype == TAKT_BOOL ? bad_bool(&s->inputs[i]) : -1;
        if (bad < 0)
            continue;
        takt_error_set(&s->error, TAKT_E_BINDING,
                       "input %s: element %lld is neither 0 nor 1, so it is not a bool",
                       s->input_descs[i].name, (long long)bad);
        takt_error_node(&s->error, s->input_descs[i].name);
        return takt_error_hint(&s->error, "write x != 0 for every element");
    }
    return TAKT_OK;
}

/* Errors of devices are recorded in the context. */
static takt_status reported(takt_session *s, takt_status status)
{
    if (status != TAKT_OK)
        takt_error_copy(s->ctx, &s->error);
    return status;
}

static takt_status run_with_state(takt_session *s, const takt_execution *x)
{
    TAKT_TRY(takt_session_has_state(s));
    TAKT_TRY(reported(s, takt_session_begin_state(s, x)));
    const takt_status status = takt_execute(x);
    if (status == TAKT_OK) {
        const takt_status ended = takt_session_end_state(s);
        s->shared->is_lost = ended != TAKT_OK; /* some of it is new, and some old */
        return reported(s, ended);
    }
    const bool needs_replan = s->range != NULL && s->range->needs_replan;
    s->shared->is_lost = !needs_replan && s->error.id == TAKT_E_STATE_LOST;
    return status;
}

/* ---- events ---- */

/* The step events of a run, as a context's reader gets them. */
typedef struct events {
    takt_watched watched;
    takt_watch steps;
} events;

/* Steps go to one reader: the session's, or else the context's. */
static const takt_watch *step_reader(takt_session *s, events *e)
{
    const takt_watch *all = s->ctx->watch;
    if (s->watch != NULL || all == NULL || all->before == NULL)
        return s->watch;
    e->watched = (takt_watched){.user = all->user, .session = s};
    e->steps = *all;
    e->steps.user = &e->watched;
    return &e->steps;
}

static void pass_end(takt_session *s, uint64_t start_ns, takt_status status)
{
    const takt_watch *all = s->ctx->watch;
    if (all != NULL && all->end != NULL)
        all->end(all->user, s, start_ns, status);
    if (s->reader.end != NULL)
        s->reader.end(s->reader.user, s, start_ns, status);
}

/* ---- a run ---- */

static takt_status execute(takt_session *s, uint64_t number, uint64_t deadline_ns, bool begins)
{
    events e;
    const takt_execution x = {.plan = s->plan,
                              .base = s->base,
                              .arena = s->arena,
                              .parts = s->parts,
                              .pool = s->pool,
                              .fault = &s->fault,
                              .error = &s->error,
                              .cancel = s->outer_cancel != NULL ? s->outer_cancel : &s->cancel,
                              .run = s->outer_cancel != NULL ? s->outer_run : number,
                              .deadline_ns = deadline_ns,
                              .watch = step_reader(s, &e),
                              .strides = s->view_count > 0 ? s->strides : NULL,
                              .is_back = s->is_back,
                              .is_begun_only = begins,
                              .point = takt_session_point,
                              .point_user = s};
    s->is_back = !s->is_back;
    const uint64_t fp = takt_fp_enter(); /* a caller that flushes denormals gets the same bits */
    takt_status status = takt_session_copy_in(s);
    if (status == TAKT_OK)
        status = check_bools(s);
    if (status == TAKT_OK)
        status = s->shared != NULL ? run_with_state(s, &x) : takt_execute(&x);
    takt_fp_leave(fp);
    return status;
}

static takt_status run_number(takt_session *s, uint64_t number, uint64_t deadline_ns, bool begins)
{
    if (s->is_begun && takt_session_must_end(s))
        TAKT_TRY(takt_session_finish(s));
    TAKT_TRY(takt_session_settle(s));
    TAKT_TRY(ready(s));
    TAKT_TRY(takt_session_sample(s));
    takt_cpu_wait(s->ctx);
    const bool is_read = s->ctx->watch != NULL || s->reader.end != NULL;
    const uint64_t start = is_read ? s->ctx->now_ns(s->ctx->clock_user) : 0;
    begins = begins && s->watch == NULL && s->ctx->watch == NULL;
    takt_status status = execute(s, number, deadline_ns, begins);
    while (status != TAKT_OK && s->range != NULL && s->range->needs_replan) {
        status = takt_session_again(s);
        status = status == TAKT_OK ? ready(s) : status;
        status = status == TAKT_OK ? execute(s, number, deadline_ns, false) : status;
    }
    s->is_begun = begins && status == TAKT_OK;
    if (status == TAKT_OK && !begins)
        status = takt_session_copy_out(s);
    if (status == TAKT_OK && !begins)
        status = takt_session_check_clauses(s);
    if (is_read)
        pass_end(s, start, status);
    return status;
}

takt_status takt_session_refuse(takt_session *s)
{
    takt_fail(s->ctx, TAKT_E_STATE, "another thread is running this session");
    return takt_fail_hint(s->ctx, "give each thread a session of its own: takt_session_clone");
}

static takt_status run(takt_session *s, uint64_t deadline_ns, bool begins)
{
    uint64_t before = atomic_load(&s->runs);
    const uint64_t number = before / 2 + 1;
    if (before % 2 != 0 || !atomic_compare_exchange_strong(&s->runs, &before, 2 * number + 1))
        return takt_session_refuse(s);
    if (!takt_session_enter(s)) {
        atomic_store(&s->runs, before);
        return takt_error_set(&s->error, TAKT_E_STATE,
                              "a session that shares this one's state is running");
    }
    const takt_status status = run_number(s, number, deadline_ns, begins);
    atomic_store(&s->runs, 2 * number);
    takt_session_leave(s);
    return status;
}

takt_status takt_session_run(takt_session *s)
{
    return s != NULL ? run(s, 0, s->stream != NULL) : TAKT_ERR_ARGUMENT;
}

takt_status takt_session_begin(takt_session *s)
{
    return run(s, 0, true);
}

takt_status takt_session_run_deadline(takt_session *s, uint64_t budget_ns)
{
    if (s == NULL)
        return TAKT_ERR_ARGUMENT;
    const uint64_t now = s->ctx->now_ns(s->ctx->clock_user);
    const uint64_t end = now > UINT64_MAX - budget_ns ? UINT64_MAX : now + budget_ns;
    return run(s, end > 0 ? end : 1, s->stream != NULL);
}

void takt_session_cancel(takt_session *s)
{
    if (s == NULL)
        return;
    const uint64_t runs = atomic_load(&s->runs);
    atomic_store(&s->cancel, runs / 2 + (runs % 2 == 0));
}

const takt_error *takt_session_error(const takt_session *s)
{
    static const takt_error no_session = {
        .status = TAKT_ERR_ARGUMENT,
        .offset = -1,
        .message = "there is no session",
    };
    return s != NULL ? &s->error : &no_session;
}

/* ---- the first run as fast as the others ---- */

static void nothing(void *user, size_t task, int thread)
{
    (void)user;
    (void)task;
    (void)thread;
}

static bool has_inputs(const takt_session *s)
{
    for (size_t i = 0; i < s->plan->graph->input_count; i++)
        if (s->inputs[i].view.data == NULL)
            return false;
    return true;
}

/* One run; a fault is reported when the caller runs, not now. */
static takt_status try_out(takt_session *s)
{
    const size_t bytes = takt_session_state_bytes(s);
    void *saved = NULL;
    const takt_error error = s->error;
    if (bytes > 0) {
        TAKT_TRY(takt_mem_get(s->ctx, bytes, "state", &saved));
        const takt_status kept = takt_session_save_state(s, saved);
        if (kept != TAKT_OK) {
            takt_mem_put(s->ctx, saved, bytes);
            return kept;
        }
    }
    takt_status status = run(s, 0, false);
    const takt_status back = saved != NULL ? takt_session_restore_state(s, saved) : TAKT_OK;
    takt_mem_put(s->ctx, saved, bytes);
    TAKT_TRY(back);
    if (status == TAKT_ERR_MEMORY)
        return status;
    s->error = error;
    return TAKT_OK;
}

/* Writes to every page what is there: outputs of the last run may be read later. */
static void touch(volatile unsigned char *arena, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        arena[i] = arena[i];
    if (bytes > 0)
        arena[bytes - 1] = arena[bytes - 1];
}

takt_status takt_session_warmup(takt_session *s)
{
    TAKT_NEED(NULL, s);
    for (size_t i = 0; i < s->plan->graph->output_count; i++)
        if (s->outputs[i].view.data == NULL)
            TAKT_TRY(takt_session_own(s, TAKT_PLACE_OUTPUT, i));
    touch(s->arena, s->plan->arena_bytes);
    takt_pool_share(s->pool, nothing, NULL, (size_t)takt_pool_threads(s->pool));
    /* A run would consume donated inputs. */
    return has_inputs(s) && s->plan->settings.donated == NULL ? try_out(s) : TAKT_OK;
}
