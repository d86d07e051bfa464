/* run.c - one segment of a run: uploads are filled in, its graph is launched, and the caller polls
 * a number in pinned memory until the last node has written it. */
#include <string.h>

#include "backend/cuda/part.h"
#include "backend/cuda/session.h"
#include "backend/cuda/step.h"
#include "os/os.h"
#include "plan/execute.h"

enum {
    SPIN_NS = 50 * 1000,
    LOOKS = 64, /* between two checks of the clock */
    /* A driver's own wait has no limit, so the caller sleeps for a share of the time that has gone
     * by, and looks again. */
    NAPS = 128,
    NAP_NS = 20 * 1000,
    LONG_NAP_NS = 1000 * 1000
};

static int launch_copy(const takt_cuda_part *p, size_t index)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    const takt_step *s = &p->plan->steps[index];
    const takt_cu_ptr from = takt_cuda_place(&s->in[0], p->base);
    const takt_cu_ptr to = takt_cuda_place(&s->out[0], p->base);
    const size_t at = p->steps[index].pinned, bytes = s->transfer.bytes;
    const bool is_host = p->steps[index].side == TAKT_CUDA_HOST;
    if (bytes == 0 || p->steps[index].side == TAKT_CUDA_SAME)
        return TAKT_CU_OK;
    if (s->transfer.way == TAKT_COPY_UP && is_host)
        return d->copy_up(to, p->pinned + at, bytes, p->stream);
    if (s->transfer.way == TAKT_COPY_DOWN && is_host)
        return d->copy_down(p->pinned + at, from, bytes, p->stream);
    return d->copy_within(to, from, bytes, p->stream);
}

/* Launches steps one by one, for callers that observe each. */
static int launch_steps(takt_cuda_part *p, const takt_segment *g, size_t first)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    int result = TAKT_CU_OK;
    for (size_t i = first; i <= g->end && result == TAKT_CU_OK; i++) {
        takt_cuda_call *calls = i < g->end ? p->steps[i].calls : &p->done;
        const size_t count = i < g->end ? p->steps[i].count : 1;
        if (i < g->end && p->plan->steps[i].transfer.way != TAKT_COPY_NONE)
            result = launch_copy(p, i);
        for (size_t k = 0; k < count && result == TAKT_CU_OK; k++) {
            const takt_cuda_launch *l = &calls[k].launch;
            void *parameters[1] = {&calls[k].launch.args};
            result =
                l->is_together
                    ? d->launch_together(calls[k].function, l->grid[0], l->grid[1], l->grid[2],
                                         l->threads, 1, 1, l->shared_bytes, p->stream, parameters)
                    : d->launch(calls[k].function, l->grid[0], l->grid[1], l->grid[2], l->threads,
                                1, 1, l->shared_bytes, p->stream, parameters, NULL);
        }
    }
    return result;
}

/* The graphs of a segment: one, or on the caller's stream one per piece. Steps without a graph are
 * launched one by one. */
static int launch_graphs(takt_cuda_part *p, const takt_segment *g)
{
    int result = TAKT_CU_OK;
    size_t at = g->first;
    while (at < g->end && result == TAKT_CU_OK) {
        size_t i = 0;
        while (i < p->graph_count &&
               (p->graphs[i].first != at || p->graphs[i].end > g->end || p->graphs[i].exec == NULL))
            i++;
        result = i < p->graph_count ? p->cuda->driver.graph_launch(p->graphs[i].exec, p->stream)
                                    : launch_steps(p, g, at);
        at = i < p->graph_count ? p->graphs[i].end : g->end;
        p->run += result == TAKT_CU_OK; /* each ends with its own number */
    }
    return result;
}

takt_status takt_cuda_enqueue(void *opened, const takt_execution *x, const takt_segment *g)
{
    takt_cuda_part *p = opened;
    TAKT_TRY(takt_cuda_usable(p->cuda, x->error));
    if (p->plan->steps[g->first].is_driven)
        return takt_cuda_body_run(p, x, g->first);
    for (size_t i = g->first; i < g->end; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (s->transfer.way == TAKT_COPY_UP && p->steps[i].side == TAKT_CUDA_HOST)
            memcpy(p->pinned + p->steps[i].pinned,
                   (const char *)x->base[s->in[0].buffer] + s->in[0].offset, s->transfer.bytes);
    }
    memset(p->pinned + TAKT_CUDA_HEAD, 0xff, 8 * p->fault_count); /* pieces add to them */
    takt_cuda_enter(p->cuda);
    const int result = launch_graphs(p, g);
    if (result != TAKT_CU_OK) /* work in flight completes */
        (void)p->cuda->driver.stream_wait(p->stream);
    takt_cuda_leave(p->cuda);
    return takt_cuda_check(p->cuda, x->error, result, "a segment cannot be launched");
}

static bool is_done(const takt_cuda_part *p)
{
    const _Atomic uint32_t *seen = (const _Atomic uint32_t *)(const void *)p->pinned;
    return atomic_load_explicit(seen, memory_order_acquire) == p->run;
}

int takt_cuda_settle(takt_cuda_part *p, uint64_t begin, bool is_run)
{
    const takt_ctx *ctx = p->ctx;
    const bool is_limited = p->stream == p->own_stream;
    int result;
    while ((result = p->cuda->driver.stream_query(p->stream)) == TAKT_CU_NOT_READY) {
        if (is_run && is_done(p)) /* the rest is the caller's */
            return TAKT_CU_OK;
        const uint64_t elapsed = ctx->now_ns(ctx->clock_user) - begin;
        if (is_limited && elapsed >= TAKT_CUDA_LIMIT_S * UINT64_C(1000000000)) {
            atomic_store(&p->cuda->is_stuck, true);
            return TAKT_CU_TIMEOUT;
        }
        if (elapsed < SPIN_NS)
            continue;
        uint64_t nap = elapsed / NAPS;
        nap = nap < NAP_NS ? NAP_NS : nap > LONG_NAP_NS ? LONG_NAP_NS : nap;
        takt_os_sleep_until(takt_os_now_ns(NULL) + nap);
    }
    return result;
}

/* Polls for a while, then sleeps. */
static int await(takt_cuda_part *p)
{
    const takt_ctx *ctx = p->ctx;
    const uint64_t begin = ctx->now_ns(ctx->clock_user);
    do
        for (int i = 0; i < LOOKS; i++)
            if (is_done(p))
                return TAKT_CU_OK;
    while (ctx->now_ns(ctx->clock_user) - begin < SPIN_NS);
    takt_cuda_enter(p->cuda);
    const int result = takt_cuda_settle(p, begin, true);
    takt_cuda_leave(p->cuda);
    return result;
}

/* The index that was out of range, if the fault is one. */
static takt_status read_index(takt_cuda_part *p, const takt_execution *x, const takt_step *s,
                              takt_fault *fault)
{
    const takt_cuda_step *own = s->data;
    const takt_view *v = &s->in[own->index_in];
    const size_t bytes = v->dtype == TAKT_I32 ? 4 : 8;
    int32_t narrow = 0;
    if (s->fault_id != TAKT_E_INDEX) /* a divisor, which is 0 */
        return TAKT_OK;
    const char *at = (const char *)(uintptr_t)takt_cuda_place(v, x->base) + fault->index * bytes;
    void *to = bytes == 4 ? (void *)&narrow : (void *)&fault->value;
    TAKT_TRY(takt_cuda_check(p->cuda, x->error,
                             takt_cuda_copy(p->cuda, TAKT_COPY_DOWN, to, at, bytes),
                             "a copy failed"));
    fault->value = bytes == 4 ? narrow : fault->value;
    return TAKT_OK;
}

/* The first step whose word is set. */
static takt_status report_fault(takt_cuda_part *p, const takt_execution *x, const takt_segment *g,
                                size_t *found)
{
    const uint64_t *words = (const uint64_t *)(const void *)(p->pinned + TAKT_CUDA_HEAD);
    for (size_t i = g->first; i < g->end; i++) {
        const size_t word = p->steps[i].fault;
        if (word == SIZE_MAX || words[word] == TAKT_FAULT_NONE)
            continue;
        takt_fault fault = {.index = words[word]};
        TAKT_TRY(read_index(p, x, &p->plan->steps[i], &fault));
        takt_fault_merge(x->fault, &fault);
        *found = i;
        break;
    }
    return TAKT_OK;
}

takt_status takt_cuda_wait(void *opened, const takt_execution *x, const takt_segment *g,
                           size_t *found)
{
    takt_cuda_part *p = opened;
    TAKT_TRY(takt_cuda_waited(p->cuda, x->error, await(p), "a segment failed"));
    for (size_t i = g->first; i < g->end; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (s->transfer.way == TAKT_COPY_DOWN && p->steps[i].side == TAKT_CUDA_HOST)
            memcpy((char *)x->base[s->out[0].buffer] + s->out[0].offset,
                   p->pinned + p->steps[i].pinned, s->transfer.bytes);
    }
    return p->fault_count > 0 ? report_fault(p, x, g, found) : TAKT_OK;
}
