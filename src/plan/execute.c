/* execute.c - the loop that runs a plan: allocates nothing, waits only for other backends. */
#include "plan/execute.h"

#include "base/error.h"
#include "base/mem.h"
#include "os/os.h"
#include "plan/backend.h"

typedef struct call {
    const takt_step *step;
    takt_step_run_fn *run; /* the step whose tasks are under way */
    void *const *base;
    char *scratch;
    takt_fault_slot *fault;
    const takt_execution *execution;
    bool can_stop;        /* between tasks */
    _Atomic int stopping; /* the error that ends the run; tasks that have not begun are skipped */
} call;

/* The run's data for a task. */
typedef struct poll {
    takt_poll base; /* must be first: the task sees only this part */
    call *call;
    int worker;
} poll;

static takt_task task_of(const call *c, size_t index, size_t worker)
{
    const size_t own = c->step->scratch_bytes + worker * c->step->scratch_each;
    return (takt_task){.base = c->base,
                       .index = index,
                       .worker = worker,
                       .scratch = c->scratch,
                       .scratch_own = c->scratch != NULL ? c->scratch + own : NULL,
                       .fault = c->fault,
                       .execution = c->execution};
}

/* A clock supplied by the caller is read only on the caller's thread. */
static bool reads_clock(const call *c, int worker)
{
    return worker == 0 || c->execution->plan->ctx->now_ns == takt_os_now_ns;
}

/* Whether the run must end before or during this task. */
static bool stops(call *c, int worker)
{
    if (!c->can_stop)
        return false;
    if (atomic_load_explicit(&c->stopping, memory_order_relaxed) != 0)
        return true;
    const takt_error_id why = takt_is_cancelled(c->execution) ? TAKT_E_CANCELLED
                              : reads_clock(c, worker) && takt_is_late(c->execution)
                                  ? TAKT_E_DEADLINE
                                  : 0;
    if (why != 0)
        atomic_store_explicit(&c->stopping, (int)why, memory_order_relaxed);
    return why != 0;
}

static bool stops_inside(const takt_poll *base)
{
    const poll *p = (const poll *)(const void *)base;
    return stops(p->call, p->worker);
}

/* `pool`: for use by the task itself. */
static void begin_task(call *c, size_t index, int worker, takt_pool *pool)
{
    const poll p = {.base.stops = stops_inside, .call = c, .worker = worker};
    takt_task t = task_of(c, index, (size_t)worker);
    t.pool = pool;
    if (c->can_stop)
        t.poll = &p.base;
    c->run(c->step, &t);
}

static void run_task(void *user, size_t index, int worker)
{
    call *c = user;
    if (!stops(c, worker))
        begin_task(c, index, worker, NULL);
}

static uint64_t now(const call *c)
{
    const takt_ctx *ctx = c->execution->plan->ctx;
    return ctx->now_ns(ctx->clock_user);
}

/* Reads the clock before and after: the workers waited for the rest of a step's time. */
static void run_task_watched(void *user, size_t index, int worker)
{
    const call *c = user;
    uint64_t *busy = &c->execution->watch->busy_ns[worker * TAKT_BUSY_STRIDE];
    const uint64_t start = now(c);
    run_task(user, index, worker);
    const uint64_t end = now(c);
    busy[TAKT_BUSY_SUM] += end - start;
    if (busy[TAKT_BUSY_FIRST] == 0)
        busy[TAKT_BUSY_FIRST] = start;
    busy[TAKT_BUSY_LAST] = end;
}

/* Thread 0 does the work before and after the tasks. */
static void run_edge(void (*edge)(const takt_step *, const takt_task *), const call *c,
                     const takt_task *single, uint64_t *busy_ns)
{
    if (edge == NULL)
        return;
    const uint64_t start = busy_ns != NULL ? now(c) : 0;
    edge(c->step, single);
    if (busy_ns != NULL)
        busy_ns[0] += now(c) - start;
}

static void run_backwards(call *c, takt_task_fn *task, size_t count)
{
    while (count-- > 0)
        task(c, count, 0);
}

static void run_tasks(call *c, takt_pool *pool, size_t count, bool is_watched)
{
    takt_task_fn *task = is_watched ? run_task_watched : run_task;
    if (count == 1)
        begin_task(c, 0, 0, NULL); /* the step has just checked */
    else if (takt_pool_threads(pool) == 1 && c->execution != NULL && c->execution->is_back)
        run_backwards(c, task, count);
    else
        takt_pool_run(pool, task, c, count);
}

static void run_plain(call *c, takt_pool *pool)
{
    c->run = c->step->run;
    begin_task(c, 0, 0, c->step->shares_pool ? pool : NULL);
}

/* A function of its own, so that other steps take no such stack. */
static __attribute__((noinline)) void run_stacked(call *c, takt_pool *pool)
{
    _Alignas(TAKT_ALIGN) char scratch[TAKT_STACK_SCRATCH];
    c->scratch = scratch;
    run_plain(c, pool);
}

static void run_step(call *c, takt_pool *pool)
{
    if (takt_step_is_plain(c->step)) {
        (takt_step_is_stacked(c->step) ? run_stacked : run_plain)(c, pool);
        return;
    }
    const poll p = {.base.stops = stops_inside, .call = c};
    takt_task single = task_of(c, 0, 0);
    if (c->can_stop)
        single.poll = &p.base;
    const takt_watch *watch = c->execution != NULL ? c->execution->watch : NULL;
    uint64_t *busy_ns = watch != NULL ? watch->busy_ns : NULL;
    run_edge(c->step->before, c, &single, busy_ns);
    c->run = c->stopping == 0 ? c->step->prepare : NULL;
    if (c->step->prepare_count == 1)
        run_edge(c->run, c, &single, busy_ns);
    else if (c->run != NULL)
        run_tasks(c, pool, c->step->prepare_count, busy_ns != NULL);
    c->run = c->step->run;
    if (c->stopping == 0)
        run_tasks(c, pool, c->step->task_count, busy_ns != NULL);
    run_edge(c->step->after, c, &single, busy_ns);
}

void takt_execute_constant(const takt_step *step, void *const *base, void *scratch,
                           takt_fault_slot *fault, takt_pool *pool)
{
    call c = {.step = step, .base = base, .scratch = scratch, .fault = fault};
    run_step(&c, pool);
}

void takt_execute_step(const takt_execution *x, const takt_step *step, void *scratch)
{
    call c = {.step = step,
              .base = x->base,
              .scratch = scratch,
              .fault = step->can_fault ? x->fault : NULL,
              .execution = x};
    run_step(&c, NULL);
}

void takt_execute_first(const takt_execution *x, const takt_step *step)
{
    call c = {.step = step,
              .base = x->base,
              .scratch = x->arena != NULL ? (char *)x->arena + step->scratch_offset : NULL,
              .execution = x};
    takt_pool *pool = step->task_count > 1 && takt_pool_try_lease(x->pool) ? x->pool : NULL;
    run_step(&c, pool);
    if (pool != NULL)
        takt_pool_release(pool);
}

/* `where`: "before", "in" or "after" the step. */
static takt_status stopped(const takt_execution *x, int id, const char *where, size_t step)
{
    const takt_step *s = &x->plan->steps[step];
    takt_error_set(x->error, (takt_error_id)id, "%s %s step %zu of %zu, %s",
                   id == TAKT_E_DEADLINE ? "the deadline passed" : "the run was cancelled", where,
                   step + 1, x->plan->step_count, s->name);
    takt_error_node(x->error, s->name);
    if (id == TAKT_E_DEADLINE)
        takt_error_hint(x->error, "give it more time, or see `takt profile` for where it goes; "
                                  "state is as it was before the run");
    return x->error->status;
}

/* Why the run must end here; TAKT_OK if it may continue. */
static takt_status interruption(const takt_execution *x, const char *where, size_t step)
{
    if (takt_is_cancelled(x))
        return stopped(x, TAKT_E_CANCELLED, where, step);
    return takt_is_late(x) ? stopped(x, TAKT_E_DEADLINE, where, step) : TAKT_OK;
}

/* The first of the steps that overwrite state at the end of a run; step_count: there are none. */
static size_t commit_phase(const takt_plan *plan)
{
    size_t first = plan->step_count;
    while (first > 0 && plan->steps[first - 1].is_commit)
        first--;
    return first;
}

static call call_of(const takt_execution *x, const takt_step *s)
{
    return (call){.step = s,
                  .base = x->base,
                  .scratch = x->arena != NULL ? (char *)x->arena + s->scratch_offset : NULL,
                  .fault = s->can_fault ? x->fault : NULL,
                  .execution = x,
                  .can_stop = !s->is_commit && s->undo == NULL};
}

static takt_status run_one(const takt_execution *x, takt_pool *pool, size_t i)
{
    const takt_step *s = &x->plan->steps[i];
    if (!s->is_commit)
        TAKT_TRY(interruption(x, "before", i));
    call c = call_of(x, s);
    if (s->can_fault)
        takt_fault_reset(x->fault);
    if (x->watch != NULL)
        x->watch->before(x->watch->user, i);
    run_step(&c, pool);
    if (x->watch != NULL)
        x->watch->after(x->watch->user, i);
    if (c.stopping != 0)
        return stopped(x, c.stopping, "in", i);
    if (s->can_fault &&
        atomic_load_explicit(&x->fault->element, memory_order_relaxed) != TAKT_FAULT_NONE)
        return takt_report_fault(x, s);
    return TAKT_OK;
}

/* State is old or new, never torn: early writes of steps before `end` are undone. */
static void undo(const takt_execution *x, size_t end)
{
    for (size_t i = end; i-- > 0;) {
        call c = call_of(x, &x->plan->steps[i]);
        const takt_task t = task_of(&c, 0, 0);
        if (c.step->undo != NULL)
            c.step->undo(c.step, &t);
    }
}

/* Runs steps on the host in order; `*done` is the number of steps of the plan that are done. */
static takt_status run_host(const takt_execution *x, takt_pool *pool, const takt_segment *g,
                            size_t *done)
{
    for (size_t i = g->first; i < g->end; i++) {
        TAKT_TRY(run_one(x, pool, i));
        *done = i + 1;
    }
    return TAKT_OK;
}

static takt_status report_failure(const takt_execution *x, const takt_segment *g, size_t step)
{
    const takt_step *s = &x->plan->steps[step];
    if (x->error->id == 0)
        takt_error_set(x->error, TAKT_E_DEVICE_FAILED, "%s failed in step %zu of %zu, %s",
                       g->backend->name, step + 1, x->plan->step_count, s->name);
    return x->error->node[0] == '\0' ? takt_error_node(x->error, s->name) : x->error->status;
}

/* The commit phase cannot be undone: state in the memory of the device is old or new or both. */
static takt_status report_loss(const takt_execution *x, const takt_segment *g, size_t step)
{
    (void)report_failure(x, g, step);
    const takt_error why = *x->error;
    takt_error_set(x->error, TAKT_E_STATE_LOST, "the state is lost: %.200s", why.message);
    takt_error_node(x->error, x->plan->steps[step].name);
    return takt_error_hint(x->error, "reset the session, or load its state from a file");
}

/* Starts steps on other devices, and waits for them. */
static takt_status run_away(const takt_execution *x, const takt_segment *g, size_t *done)
{
    void *part = x->parts[g->space];
    size_t step = g->first;
    if (!g->is_commit)
        TAKT_TRY(interruption(x, "before", g->first));
    const int before = x->error->id;
    takt_fault_reset(x->fault);
    x->error->id = 0; /* to see whether the backend reports what failed */
    if (x->watch != NULL)
        x->watch->before(x->watch->user, g->first);
    takt_status status = g->backend->enqueue(part, x, g);
    if (status == TAKT_OK && !x->is_begun_only)
        status = g->backend->wait(part, x, g, &step);
    if (x->watch != NULL)
        x->watch->after(x->watch->user, g->first);
    if (status != TAKT_OK)
        return g->is_commit ? report_loss(x, g, step) : report_failure(x, g, step);
    x->error->id = before;
    if (atomic_load_explicit(&x->fault->element, memory_order_relaxed) != TAKT_FAULT_NONE)
        return takt_report_fault(x, &x->plan->steps[step]);
    *done = g->end;
    return TAKT_OK;
}

/* Cuts are for runs that can be interrupted; an asynchronous run is enqueued as a whole. */
static takt_segment uncut(const takt_plan *plan)
{
    takt_segment all = plan->segments[0];
    all.end = plan->segments[plan->segment_count - 1].end;
    return all;
}

takt_status takt_execute_wait(const takt_execution *x)
{
    const takt_segment all = uncut(x->plan), *g = &all;
    size_t step = g->first;
    const int before = x->error->id;
    takt_fault_reset(x->fault);
    x->error->id = 0;
    if (g->backend->wait(x->parts[g->space], x, g, &step) != TAKT_OK)
        return report_failure(x, g, step);
    x->error->id = before;
    if (atomic_load_explicit(&x->fault->element, memory_order_relaxed) != TAKT_FAULT_NONE)
        return takt_report_fault(x, &x->plan->steps[step]);
    return TAKT_OK;
}

/* When profiling, each step is a separate segment. */
static takt_status run_segment(const takt_execution *x, takt_pool *pool, const takt_segment *g,
                               size_t *done)
{
    if (g->space == TAKT_HOST)
        return run_host(x, pool, g, done);
    if (x->watch == NULL)
        return run_away(x, g, done);
    for (size_t i = g->first; i < g->end; i++) {
        takt_segment one = *g;
        one.first = i;
        one.end = i + 1;
        TAKT_TRY(run_away(x, &one, done));
    }
    return TAKT_OK;
}

static takt_status run_all(const takt_execution *x, takt_pool *pool)
{
    const takt_plan *plan = x->plan;
    const size_t commit = commit_phase(plan);
    size_t done = 0;
    if (x->is_begun_only) {
        const takt_segment all = uncut(plan);
        return run_away(x, &all, &done);
    }
    for (size_t i = 0; i < plan->segment_count; i++) {
        takt_status status = run_segment(x, pool, &plan->segments[i], &done);
        if (plan->segments[i].is_point && status == TAKT_OK)
            status = takt_point_pass(x, done - 1);
        if (status == TAKT_OK && done == commit) /* late is late, even after the last step */
            status = interruption(x, "after", done - 1);
        if (status != TAKT_OK) {
            undo(x, done);
            return status;
        }
    }
    return TAKT_OK;
}

takt_status takt_execute(const takt_execution *x)
{
    const bool is_leased = x->is_leased || (x->plan->is_parallel && takt_pool_try_lease(x->pool));
    const takt_status status = run_all(x, is_leased ? x->pool : NULL);
    if (is_leased && !x->is_leased)
        takt_pool_release(x->pool);
    return status;
}
