/* execute.h - running the steps of a plan, one after another. */
#ifndef TAKT_PLAN_EXECUTE_H
#define TAKT_PLAN_EXECUTE_H

#include "os/pool.h"
#include "plan/plan.h"

struct takt_session;

/* The events of a run, read by profiles, monitors and timed training. A run does not know its
 * readers; without one, an event costs the test of a pointer. */
typedef struct takt_watch {
    void (*before)(void *user, size_t step); /* NULL, as `after`: the steps are of no interest */
    void (*after)(void *user, size_t step);
    void *user;
    /* Or NULL: per worker of the pool, at [worker * TAKT_BUSY_STRIDE], in nanoseconds. The time it
     * spent in tasks is added; the start of its first task is stored if the entry is 0, and the end
     * of its last one. */
    uint64_t *busy_ns;
    /* Or NULL: after a run of `session` that began at `start_ns` on the context's clock. */
    void (*end)(void *user, struct takt_session *session, uint64_t start_ns, takt_status status);
    /* Called if the context is destroyed first: frees the reader. */
    void (*drop)(void *user);
} takt_watch;

/* The `user` of step events that go to a context's reader: sessions of a context run at the same
 * time. */
typedef struct takt_watched {
    void *user; /* the reader's own */
    struct takt_session *session;
    /* The reader's, zero at first: when the step under way began, and on which thread. */
    uint64_t started;
    int thread;
} takt_watched;

enum { TAKT_BUSY_SUM, TAKT_BUSY_FIRST, TAKT_BUSY_LAST };
enum { TAKT_BUSY_STRIDE = 8 }; /* a cache line each */

struct takt_execution {
    const takt_plan *plan;
    void *const *base;    /* per buffer */
    unsigned char *arena; /* for scratch of steps on the host */
    void *const *parts;   /* per space: what session_open made; NULL: the plan has the host only */
    takt_pool *pool;      /* or NULL */
    bool is_leased;       /* the pool is leased already, by the enclosing run */
    takt_fault_slot *fault;
    takt_error *error;
    const _Atomic uint64_t *cancel; /* the run to cancel, or NULL */
    uint64_t run;                   /* this one */
    uint64_t deadline_ns;           /* on the context's clock; 0: none */
    const takt_watch *watch;        /* or NULL */
    /* Per input of the graph: strides in elements of a bound view that steps read in place, or
     * NULL; NULL altogether: every input is dense. */
    const int64_t *const *strides;
    /* One thread takes tasks from the last to the first: set for every other run, which thus starts
     * with the data that the previous run left in the caches. */
    bool is_back;
    /* Work on devices is only started: a later call waits for it. All segments are on devices. */
    bool is_begun_only;
    /* Called after a step that is a size point, to size the steps after it; NULL: they are valid
     * only for the sizes that the plan has. */
    takt_status (*point)(void *user, size_t step);
    void *point_user;
};

/* Whether a size point found the plan's current sizes. */
bool takt_point_holds(const takt_plan *plan, const takt_step *step, const int64_t *found);
/* After a size point: resizes the steps after it, or ends the run. */
TAKT_MUST_USE takt_status takt_point_pass(const takt_execution *x, size_t step);
/* The sizes that a size point found. */
static inline const int64_t *takt_point_found(const takt_step *s, void *const *base)
{
    return (const int64_t *)(const void *)((const char *)base[s->out[0].buffer] + s->out[0].offset);
}

/* The strides of an input of the step whose reads_view took them; NULL: dense. */
static inline const int64_t *takt_view_stride(const takt_task *t, const takt_view *v)
{
    const takt_execution *x = t->execution;
    if (x == NULL || x->strides == NULL)
        return NULL;
    const takt_buffer *b = &x->plan->buffers[v->buffer];
    return b->place == TAKT_PLACE_INPUT ? x->strides[b->index] : NULL;
}

static inline bool takt_is_cancelled(const takt_execution *x)
{
    return x->cancel != NULL && atomic_load_explicit(x->cancel, memory_order_relaxed) == x->run;
}

/* Reads the caller's clock, so only on the caller's thread: worker 0. */
static inline bool takt_is_late(const takt_execution *x)
{
    return x->deadline_ns != 0 && x->plan->ctx->now_ns(x->plan->ctx->clock_user) >= x->deadline_ns;
}

/* Runs every segment. On the host, cancel and deadline are checked before every step and every task
 * of a step and in long tasks about every hundred microseconds (kernel/poll.h), elsewhere before
 * every segment; and after the last one. They are not checked in the commit phase, nor in a step
 * that overwrites state early. */
TAKT_MUST_USE takt_status takt_execute(const takt_execution *x);
/* Waits for a run that was only started, of a plan of one segment. */
TAKT_MUST_USE takt_status takt_execute_wait(const takt_execution *x);
/* A step before the others, by all free threads. */
void takt_execute_first(const takt_execution *x, const takt_step *step);
/* The error of the fault that step `s` of the run left. */
takt_status takt_report_fault(const takt_execution *x, const takt_step *s);
/* One step of the run, all its tasks, on the calling thread: for backends that are threads. */
void takt_execute_step(const takt_execution *x, const takt_step *step, void *scratch);
/* Outside of a run: for constant steps, which run at plan time. `pool`: leased, and the scratch is
 * for all its threads; or NULL. */
void takt_execute_constant(const takt_step *step, void *const *base, void *scratch,
                           takt_fault_slot *fault, takt_pool *pool);

#endif
