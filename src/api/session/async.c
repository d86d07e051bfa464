/* async.c - runs on the session's own thread.
 *
 * One word holds the state: idle, busy, or stop. The caller sets it to busy, the thread back to
 * idle; waiters sleep on it.
 */
#include "api/session/session.h"
#include "os/fp.h"
#include "os/os.h"

static void body(void *arg)
{
    takt_session *s = arg;
    takt_runner *r = &s->runner;
    takt_fp_enter();
    for (;;) {
        const uint32_t phase = atomic_load(&r->phase);
        if (phase == TAKT_RUNNER_STOP)
            return;
        if (phase == TAKT_RUNNER_IDLE) {
            takt_futex_wait(&r->futex, &r->phase, phase);
            continue;
        }
        takt_done_fn *done = r->done;
        void *done_arg = r->arg;
        const takt_status status = takt_session_run(s);
        atomic_store(&r->status, status);
        atomic_store(&r->phase, TAKT_RUNNER_IDLE); /* `done` may start the next run */
        takt_futex_wake(&r->futex, &r->phase, 2);
        if (done != NULL)
            done(done_arg, s, status);
    }
}

/* After a fork the child does not have this thread, and its run does not continue. */
static bool is_lost(const takt_runner *r)
{
    return r->thread != NULL && r->process != takt_os_process();
}

static void forget_lost(takt_session *s)
{
    takt_runner *r = &s->runner;
    s->ctx->threads.join(s->ctx->threads.user, r->thread); /* does not wait: there is no thread */
    r->thread = NULL;
    atomic_store(&r->phase, TAKT_RUNNER_IDLE);
    if (atomic_load(&s->runs) % 2 != 0)
        takt_session_leave(s); /* releases the state that the run had acquired */
    atomic_store(&s->runs, atomic_load(&s->runs) / 2 * 2);
}

static takt_status start(takt_session *s)
{
    takt_runner *r = &s->runner;
    char reason[64];
    if (r->thread != NULL)
        return TAKT_OK;
    r->process = takt_os_process();
    int error = takt_futex_init(&r->futex);
    if (error == 0)
        error = s->ctx->threads.start(s->ctx->threads.user, body, s, &r->thread);
    if (error == 0)
        return TAKT_OK;
    r->thread = NULL;
    takt_futex_deinit(&r->futex);
    takt_fail(s->ctx, TAKT_E_MEMORY, "no thread can be started for a run: %s",
              takt_os_reason(error, reason, sizeof reason));
    return takt_fail_hint(s->ctx, "takt_session_run needs none");
}

/* A device works by itself: no thread is needed unless there is a callback. */
static takt_status begin(takt_session *s)
{
    const takt_status status = takt_session_begin(s);
    atomic_store(&s->runner.status, status);
    if (status != TAKT_OK)
        s->ctx->error = s->error;
    return status;
}

takt_status takt_run_async(takt_session *s, takt_done_fn *done, void *arg)
{
    if (s == NULL)
        return TAKT_ERR_ARGUMENT;
    takt_runner *r = &s->runner;
    if (is_lost(r))
        forget_lost(s);
    if (atomic_load(&r->phase) != TAKT_RUNNER_IDLE || s->is_begun) {
        takt_fail(s->ctx, TAKT_E_STATE, "a run of this session is under way");
        return takt_fail_hint(s->ctx, "wait for it with takt_session_wait, or give each run a "
                                      "session: takt_session_clone");
    }
    const char *step;
    if (done == NULL && takt_session_cannot_begin(s, &step) == NULL)
        return begin(s);
    TAKT_TRY(start(s));
    r->done = done;
    r->arg = arg;
    atomic_store(&r->phase, TAKT_RUNNER_BUSY);
    takt_futex_wake(&r->futex, &r->phase, 2);
    return TAKT_OK;
}

static void wait_idle(takt_runner *r)
{
    while (atomic_load(&r->phase) == TAKT_RUNNER_BUSY)
        takt_futex_wait(&r->futex, &r->phase, TAKT_RUNNER_BUSY);
}

takt_status takt_session_wait(takt_session *s)
{
    if (s == NULL)
        return TAKT_ERR_ARGUMENT;
    if (is_lost(&s->runner) && atomic_load(&s->runner.phase) == TAKT_RUNNER_BUSY) {
        forget_lost(s);
        takt_fail(s->ctx, TAKT_E_STATE, "the run was begun before a fork, and ends in the parent");
        return takt_fail_hint(s->ctx, "run again in this process; what was bound still is");
    }
    wait_idle(&s->runner);
    if (s->is_begun)
        atomic_store(&s->runner.status, takt_session_finish(s));
    return (takt_status)atomic_load(&s->runner.status);
}

void takt_runner_end(takt_session *s)
{
    takt_runner *r = &s->runner;
    if (is_lost(r))
        forget_lost(s);
    if (r->thread == NULL)
        return;
    for (uint32_t idle = TAKT_RUNNER_IDLE;
         !atomic_compare_exchange_strong(&r->phase, &idle, TAKT_RUNNER_STOP);
         idle = TAKT_RUNNER_IDLE)
        wait_idle(r);
    takt_futex_wake(&r->futex, &r->phase, 2);
    s->ctx->threads.join(s->ctx->threads.user, r->thread);
    takt_futex_deinit(&r->futex);
}
