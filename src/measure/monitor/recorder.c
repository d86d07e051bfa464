/* recorder.c - takt_profile_start and stop, and functions that are timed alongside the steps. */
#include "measure/monitor/recorder.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "measure/report/report.h"
#include "measure/roofline.h"
#include "os/cpu.h"
#include "os/os.h"

static uint64_t now(const takt_ctx *ctx)
{
    return ctx->now_ns(ctx->clock_user);
}

/* NULL unless the context records. */
static takt_recorder *recorder_of(const takt_ctx *ctx)
{
    return ctx->watch != NULL ? ctx->watch->user : NULL;
}

/* Names that are too long are cut, not between the bytes of a character. */
static void copy_name(char to[TAKT_OP_NAME], const char *name)
{
    size_t length = strlen(name);
    if (length >= TAKT_OP_NAME) {
        length = TAKT_OP_NAME - 1;
        while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(to, name, length);
    to[length] = '\0';
}

/* The row of that name, which may be new; TAKT_RECORD_OPS if there is no room. */
static size_t find_op(takt_recorder *r, const char *name)
{
    char cut[TAKT_OP_NAME];
    copy_name(cut, name);
    for (size_t i = 0; i < r->op_count; i++)
        if (strcmp(r->ops[i].name, cut) == 0)
            return i;
    if (r->op_count < TAKT_RECORD_OPS) {
        r->ops[r->op_count] = (takt_op_times){.min_ns = INFINITY};
        memcpy(r->ops[r->op_count].name, cut, sizeof cut);
        return r->op_count++;
    }
    return TAKT_RECORD_OPS;
}

/* `op` names the row, `e` the call. */
static void enter(takt_recorder *r, const char *op, takt_profile_event *e)
{
    takt_lock_take(&r->lock);
    const size_t at = find_op(r, op);
    if (at < TAKT_RECORD_OPS) {
        takt_op_times *row = &r->ops[at];
        row->count++;
        row->total_ns += (double)e->ns;
        row->min_ns = fmin(row->min_ns, (double)e->ns);
        row->max_ns = fmax(row->max_ns, (double)e->ns);
        e->op = (uint32_t)at;
    }
    if (at < TAKT_RECORD_OPS && r->event_count < TAKT_RECORD_EVENTS)
        r->events[r->event_count++] = *e;
    else
        r->dropped++;
    takt_lock_give(&r->lock);
}

/* ---- steps ---- */

static void before(void *user, size_t step)
{
    takt_watched *run = user;
    (void)step;
    if (run->thread == 0)
        run->thread = takt_cpu_thread_id();
    run->started = now(run->session->ctx);
}

static size_t written_bytes(const takt_plan *plan, const takt_step *step)
{
    takt_roof roof;
    takt_roof_of(plan, step, NULL, &roof);
    return (size_t)takt_whole(roof.bytes / 2); /* half are reads */
}

static void after(void *user, size_t step)
{
    const takt_watched *run = user;
    const takt_session *s = run->session;
    const takt_step *done = &s->plan->steps[step];
    takt_recorder *r = run->user;
    takt_profile_event e = {.ns = now(s->ctx) - run->started,
                            .start_ns = run->started - r->start_ns,
                            .thread = run->thread};
    copy_name(e.name, done->name);
    enter(r, done->kind, &e);
    if (done->facts.work != TAKT_WORK_MOVE)
        return;
    takt_lock_take(&r->lock);
    r->moves++;
    r->move_ns += e.ns;
    r->move_bytes += written_bytes(s->plan, done);
    takt_lock_give(&r->lock);
}

/* Bytes that the run copied between the caller's strided buffers and its own. */
static void record_copies(void *user, takt_session *s, uint64_t start_ns, takt_status status)
{
    takt_recorder *r = user;
    (void)start_ns;
    (void)status;
    const takt_graph *g = s->plan->graph;
    takt_lock_take(&r->lock);
    for (size_t i = 0; i < g->input_count + g->output_count; i++) {
        const takt_session_port *port =
            i < g->input_count ? &s->inputs[i] : &s->outputs[i - g->input_count];
        r->moves += takt_port_moves(port);
        r->move_bytes += takt_port_moves(port) ? port->bytes : 0;
    }
    takt_lock_give(&r->lock);
}

takt_status takt_timed(takt_ctx *ctx, const char *name, takt_timed_fn *fn, void *arg)
{
    if (name == NULL || fn == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_timed wants a name and a function");
    if (recorder_of(ctx) == NULL)
        return fn(arg);
    const uint64_t start = now(ctx);
    const takt_status status = fn(arg);
    takt_recorder *r = recorder_of(ctx);
    if (r == NULL) /* the function stopped it */
        return status;
    takt_profile_event e = {.ns = now(ctx) - start,
                            .start_ns = start > r->start_ns ? start - r->start_ns : 0,
                            .thread = takt_cpu_thread_id()};
    copy_name(e.name, name);
    enter(r, name, &e);
    return status;
}

/* ---- start and stop ---- */

static void drop(void *user)
{
    takt_recorder *r = user;
    takt_ctx *ctx = r->ctx;
    ctx->watch = NULL;
    takt_mem_put(ctx, r, sizeof *r);
}

takt_status takt_profile_start(takt_ctx *ctx)
{
    TAKT_NEED(NULL, ctx);
    void *block;
    if (ctx->watch != NULL) {
        takt_fail(ctx, TAKT_E_STATE, "the context records already");
        return takt_fail_hint(ctx, "takt_profile_stop ends that");
    }
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_recorder), "recorder", &block));
    takt_recorder *r = block;
    r->allocations = atomic_load(&ctx->allocations);
    r->allocated_bytes = atomic_load(&ctx->allocated_bytes);
    r->start_ns = now(ctx);
    r->ctx = ctx;
    r->watch = (takt_watch){
        .before = before, .after = after, .user = r, .end = record_copies, .drop = drop};
    ctx->watch = &r->watch;
    return TAKT_OK;
}

/* Sorted by their totals; events keep pointing at their rows. */
static void sort_ops(const takt_recorder *r, takt_profile_results *to)
{
    uint32_t place[TAKT_RECORD_OPS];
    for (size_t i = 0; i < r->op_count; i++) {
        place[i] = 0;
        for (size_t j = 0; j < r->op_count; j++)
            place[i] += r->ops[j].total_ns > r->ops[i].total_ns ||
                        (r->ops[j].total_ns == r->ops[i].total_ns && j < i);
        takt_op_times *row = &to->ops[place[i]];
        *row = r->ops[i];
        row->avg_ns = row->total_ns / (double)row->count;
    }
    for (size_t i = 0; i < r->event_count; i++) {
        to->events[i] = r->events[i];
        to->events[i].op = place[r->events[i].op];
    }
    to->op_count = r->op_count;
    to->event_count = r->event_count;
}

takt_status takt_profile_stop(takt_ctx *ctx, takt_profile_results *to)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, to);
    takt_recorder *r = recorder_of(ctx);
    void *ops = NULL, *events = NULL;
    *to = (takt_profile_results){0};
    if (r == NULL) {
        takt_fail(ctx, TAKT_E_STATE, "the context does not record");
        return takt_fail_hint(ctx, "takt_profile_start begins");
    }
    to->total_ns = now(ctx) - r->start_ns;
    to->allocations = atomic_load(&ctx->allocations) - r->allocations;
    to->bytes = atomic_load(&ctx->allocated_bytes) - r->allocated_bytes + r->move_bytes;
    to->moves = r->moves;
    to->move_ns = r->move_ns;
    to->dropped = r->dropped;
    takt_status status = takt_mem_zero(ctx, r->op_count, sizeof(takt_op_times), "profile", &ops);
    if (status == TAKT_OK)
        status = takt_mem_zero(ctx, r->event_count, sizeof(takt_profile_event), "profile", &events);
    if (status == TAKT_OK) {
        to->ops = ops;
        to->events = events;
        sort_ops(r, to);
    } else
        takt_mem_put(ctx, ops, r->op_count * sizeof(takt_op_times));
    drop(r);
    return status;
}

void takt_profile_results_free(takt_ctx *ctx, takt_profile_results *results)
{
    if (results == NULL)
        return;
    takt_mem_put(ctx, results->ops, results->op_count * sizeof *results->ops);
    takt_mem_put(ctx, results->events, results->event_count * sizeof *results->events);
    *results = (takt_profile_results){0};
}
