/* late.c - a device that is a thread, with memory of its own (late_memory.c). */
#define _POSIX_C_SOURCE 200809L
#include "util/late_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/list.h"
#include "op/ops.h"
#include "plan/execute.h"

static takt_status open(takt_ctx *ctx, const char *which, int threads, void **state)
{
    (void)which;
    (void)threads;
    *state = NULL;
    if (takt_late_fails())
        return takt_fail(ctx, TAKT_E_DEVICE_FAILED, "late: there is no device");
    takt_late_device *d = malloc(sizeof *d);
    if (d == NULL)
        return TAKT_ERR_MEMORY;
    d->ctx = ctx;
    *state = d;
    atomic_fetch_add(&takt_late.devices, 1);
    return TAKT_OK;
}

static void close(takt_ctx *ctx, void *state)
{
    (void)ctx;
    free(state);
    atomic_fetch_sub(&takt_late.devices, 1);
}

/* ---- segments ---- */

typedef enum phase { IDLE, BUSY, DONE, STOP } phase;

typedef struct part {
    const takt_plan *plan;
    unsigned char *arena;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    phase phase;
    const takt_execution *x;
    takt_segment segment;
    takt_status status;
    size_t step; /* that failed */
} part;

static void look_at(const takt_plan *plan, const takt_view *views, size_t count, takt_space space)
{
    for (size_t i = 0; i < count; i++)
        if (plan->buffers[views[i].buffer].space != space)
            takt_late_note("a step uses memory of another space");
}

/* False: the step met an element that it cannot compute. */
static bool run_step(const part *p, const takt_execution *x, const takt_step *s)
{
    if (s->transfer.way != TAKT_COPY_NONE) {
        const takt_task t = {.base = x->base};
        takt_late_move(s->transfer.way, takt_view_data(&t, s->out), takt_view_data(&t, s->in),
                       s->transfer.bytes);
        atomic_fetch_add(&takt_late.uploads, s->transfer.way == TAKT_COPY_UP);
        atomic_fetch_add(&takt_late.downloads, s->transfer.way == TAKT_COPY_DOWN);
        return true;
    }
    look_at(p->plan, s->in, s->in_count, s->space);
    look_at(p->plan, s->out, s->out_count, s->space);
    takt_execute_step(x, s, p->arena + s->scratch_offset);
    return !s->can_fault || atomic_load(&x->fault->element) == TAKT_FAULT_NONE;
}

static void run_segment(part *p)
{
    const struct timespec nap = {.tv_nsec = (long)takt_late.delay_us * 1000};
    if (takt_late.delay_us > 0)
        nanosleep(&nap, NULL);
    p->status = TAKT_OK;
    for (size_t i = p->segment.first; i < p->segment.end; i++) {
        p->step = i;
        atomic_fetch_add(&takt_late.steps, 1);
        if (takt_late_fails()) {
            p->status = TAKT_ERR_DEVICE;
            return;
        }
        if (!run_step(p, p->x, &p->plan->steps[i]))
            return;
    }
}

static void *work(void *user)
{
    part *p = user;
    pthread_mutex_lock(&p->lock);
    while (p->phase != STOP) {
        if (p->phase != BUSY) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        run_segment(p);
        pthread_mutex_lock(&p->lock);
        p->phase = DONE;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static takt_status session_open(void *state, const takt_plan *plan, void *const *base,
                                unsigned char *arena, void **out)
{
    const takt_late_device *d = state;
    *out = NULL;
    if (takt_late_fails())
        return takt_fail(d->ctx, TAKT_E_DEVICE_FAILED, "late: no stream can be had");
    part *p = calloc(1, sizeof *p);
    if (p == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].space != TAKT_HOST &&
            (plan->buffers[i].place != TAKT_PLACE_CONSTANT || plan->buffers[i].last >= 0) &&
            !takt_late_is_ours(base[i], plan->buffers[i].bytes))
            takt_late_note("a buffer lies where it should not");
    p->plan = plan;
    p->arena = arena;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (pthread_create(&p->thread, NULL, work, p) != 0) {
        free(p);
        return TAKT_ERR_MEMORY;
    }
    atomic_fetch_add(&takt_late.sessions, 1);
    *out = p;
    return TAKT_OK;
}

static void set(part *p, phase next)
{
    pthread_mutex_lock(&p->lock);
    p->phase = next;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void session_close(void *user)
{
    part *p = user;
    if (p->phase == BUSY)
        takt_late_note("a session is closed while a segment is under way");
    set(p, STOP);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
    atomic_fetch_sub(&takt_late.sessions, 1);
}

/* A hook that fails without a message gets the message of the executor. */
static takt_status enqueue(void *user, const takt_execution *x, const takt_segment *g)
{
    part *p = user;
    if (takt_late_fails())
        return TAKT_ERR_DEVICE;
    if (p->phase != IDLE || g->space == TAKT_HOST || g->first >= g->end)
        takt_late_note("a segment is begun that should not be");
    p->x = x;
    p->segment = *g;
    atomic_fetch_add(&takt_late.segments, 1);
    set(p, BUSY);
    return TAKT_OK;
}

static takt_status wait(void *user, const takt_execution *x, const takt_segment *g, size_t *step)
{
    part *p = user;
    (void)g;
    pthread_mutex_lock(&p->lock);
    while (p->phase == BUSY)
        pthread_cond_wait(&p->changed, &p->lock);
    p->phase = IDLE;
    pthread_mutex_unlock(&p->lock);
    *step = p->step;
    if (takt_late_fails())
        return takt_error_set(x->error, TAKT_E_DEVICE_FAILED, "late: the device is lost");
    return p->status;
}

/* ---- steps ---- */

/* Subgraphs have plans of their own, which run inside a step of the host. */
static const char *supports(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    if ((op->traits & TAKT_CONTROL) != 0 || op == &takt_op_custom)
        return "late runs no subgraphs and no functions of callers";
    if (takt_late.refuses > 0 && node % takt_late.refuses == 0) {
        atomic_fetch_add(&takt_late.refused, 1);
        return "late does not like its number";
    }
    return NULL;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return (n->op->traits & TAKT_CONTROL) == 0 && takt_backend_cpu.keeps(g, n);
}

static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    return takt_backend_cpu.absorbs(g, anchor, node);
}

static const char *continues(const takt_planner *p, const takt_group *group, takt_id node)
{
    return takt_backend_cpu.continues(p, group, node);
}

static takt_status compile(takt_planner *p)
{
    if (takt_late_fails())
        return takt_fail(p->ctx, TAKT_E_DEVICE_FAILED, "late: a kernel cannot be compiled");
    return takt_backend_cpu.compile(p);
}

static const takt_machine *machine(const void *state, takt_isa_set isas)
{
    static const takt_machine fast = {.flops_per_us = 1e9, .bytes_per_us = 1e9};
    (void)state;
    (void)isas;
    return takt_late.machine != NULL ? takt_late.machine : &fast;
}

const takt_backend takt_backend_late = {
    .name = "late",
    .summary = "a device for tests",
    .good_for = "tests",
    .open = open,
    .close = close,
    .supports = supports,
    .keeps = keeps,
    .absorbs = absorbs,
    .continues = continues,
    .compile = compile,
    .machine = machine,
    .device = &takt_late_memory,
    .session_open = session_open,
    .session_close = session_close,
    .enqueue = enqueue,
    .wait = wait,
};
