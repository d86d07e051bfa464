/* session.c - segments of a session as CUDA graphs.
 *
 * When a session is made, every launch gets its addresses, and every segment becomes one graph: its
 * steps in order, then a kernel that writes the number of the run into pinned memory. Copies
 * from and to the host go through pinned memory, so that the caller's may lie anywhere. run.c uses
 * all this, and makes nothing new.
 */
#include "backend/cuda/session.h"

#include <string.h>

#include "backend/cuda/part.h"
#include "backend/cuda/step.h"
#include "base/mem.h"

enum { ALIGN = 256 }; /* of copies in pinned memory */

/* ---- addresses ---- */

static uint64_t address(const takt_cuda_part *p, const takt_step *s, void *const *base,
                        const unsigned char *arena, uint64_t token)
{
    const uint32_t name = token & 0xffff;
    const uint64_t offset = token >> 16;
    if (name == TAKT_CUDA_SCRATCH)
        return (uint64_t)(uintptr_t)arena + s->scratch_offset + offset;
    if (name == TAKT_CUDA_TICKETS)
        return p->words + p->tickets_at + 4 * p->ticket_next;
    if (name == TAKT_CUDA_FAULT)
        return p->words + TAKT_CUDA_HEAD + 8 * p->steps[s - p->plan->steps].fault;
    const uint32_t index = (name - TAKT_CUDA_VIEW) / 2;
    const takt_view *v = (name - TAKT_CUDA_VIEW) % 2 != 0 ? &s->out[index] : &s->in[index];
    return (uint64_t)(uintptr_t)base[v->buffer] + v->offset + offset;
}

static takt_status resolve(takt_cuda_part *p, const takt_step *s, void *const *base,
                           const unsigned char *arena, takt_cuda_call *c)
{
    size_t offsets[TAKT_CUDA_MAP_OPERANDS + TAKT_CUDA_MAP_CODE + 1];
    const size_t count = takt_cuda_pointers(&c->launch, offsets, sizeof offsets / sizeof *offsets);
    for (size_t i = 0; i < count; i++) {
        uint64_t token;
        char *at = (char *)&c->launch.args + offsets[i];
        memcpy(&token, at, sizeof token);
        if (token != TAKT_CUDA_NONE) {
            token = address(p, s, base, arena, token);
            memcpy(at, &token, sizeof token);
        }
    }
    p->ticket_next += c->launch.tickets;
    return takt_cuda_function(p->cuda, &c->launch, &p->ctx->error, &c->function);
}

/* ---- what a session holds ---- */

static void count_all(takt_cuda_part *p)
{
    p->pinned_bytes = TAKT_CUDA_HEAD;
    for (size_t i = 0; i < p->plan->segment_count; i++) {
        const takt_segment *g = &p->plan->segments[i];
        p->graph_count += g->space == p->space;
        for (size_t k = g->first; k < g->end; k++)
            p->steps[k].is_mine = g->space == p->space;
    }
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_step *s = &p->plan->steps[i];
        p->steps[i].pinned = p->steps[i].fault = SIZE_MAX;
        if (!p->steps[i].is_mine)
            continue;
        if (s->transfer.way == TAKT_COPY_NONE) {
            const takt_cuda_step *own = s->data;
            p->call_count += own->count;
            for (size_t k = 0; k < own->count; k++)
                p->ticket_count += own->launches[k].tickets;
            p->steps[i].fault = s->can_fault ? p->fault_count++ : SIZE_MAX;
        }
    }
    p->pinned_bytes += (8 * p->fault_count + ALIGN - 1) / ALIGN * ALIGN;
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (!p->steps[i].is_mine ||
            (s->transfer.way != TAKT_COPY_UP && s->transfer.way != TAKT_COPY_DOWN))
            continue;
        p->steps[i].pinned = p->pinned_bytes;
        p->pinned_bytes += (s->transfer.bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
}

static takt_status get_memory(takt_cuda_part *p)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    takt_error *error = &p->ctx->error;
    void *block;
    TAKT_TRY(takt_mem_zero(p->ctx, p->call_count + 1, sizeof *p->calls, "cuda", &block));
    p->calls = block;
    TAKT_TRY(takt_mem_zero(p->ctx, p->graph_count + 1, sizeof *p->graphs, "cuda", &block));
    p->graphs = block;
    TAKT_TRY(
        takt_cuda_check(p->cuda, error, d->host_get(&block, p->pinned_bytes, 0), "pinned memory"));
    p->pinned = block;
    memset(p->pinned, 0, TAKT_CUDA_HEAD);
    memset(p->pinned + TAKT_CUDA_HEAD, 0xff, 8 * p->fault_count);
    p->tickets_at = TAKT_CUDA_HEAD + 8 * p->fault_count;
    const size_t bytes = p->tickets_at + 4 * p->ticket_count;
    TAKT_TRY(takt_cuda_check(p->cuda, error, d->mem_get(&p->words, bytes), "device memory"));
    if (p->ticket_count > 0)
        TAKT_TRY(takt_cuda_check(p->cuda, error,
                                 d->fill(p->words + p->tickets_at, 0, p->ticket_count, p->stream),
                                 "fill"));
    TAKT_TRY(takt_cuda_check(p->cuda, error, d->fill(p->words, 0, TAKT_CUDA_HEAD / 4, p->stream),
                             "fill"));
    if (p->fault_count > 0)
        TAKT_TRY(takt_cuda_check(
            p->cuda, error,
            d->fill(p->words + TAKT_CUDA_HEAD, UINT32_MAX, 2 * p->fault_count, p->stream), "fill"));
    return takt_cuda_check(p->cuda, error, d->stream_wait(p->stream), "fill");
}

static takt_status set_calls(takt_cuda_part *p, void *const *base, const unsigned char *arena)
{
    takt_cuda_call *next = p->calls;
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (!p->steps[i].is_mine || s->transfer.way != TAKT_COPY_NONE)
            continue;
        const takt_cuda_step *own = s->data;
        p->steps[i].calls = next;
        p->steps[i].count = own->count;
        for (size_t k = 0; k < own->count; k++, next++) {
            next->launch = own->launches[k];
            TAKT_TRY(resolve(p, s, base, arena, next));
        }
    }
    p->done.launch = (takt_cuda_launch){.kernel = "takt_cuda_done",
                                        .grid = {1, 1, 1},
                                        .threads = 32,
                                        .arg_bytes = sizeof(takt_cuda_done_args)};
    p->done.launch.args.done =
        (takt_cuda_done_args){.run = (uint32_t *)(uintptr_t)p->words,
                              .seen = (uint32_t *)(void *)p->pinned,
                              .faults = (uint64_t *)(uintptr_t)(p->words + TAKT_CUDA_HEAD),
                              .faults_seen = (uint64_t *)(void *)(p->pinned + TAKT_CUDA_HEAD),
                              .fault_count = (uint32_t)p->fault_count};
    return takt_cuda_function(p->cuda, &p->done.launch, &p->ctx->error, &p->done.function);
}

/* ---- graphs ---- */

static int add_call(const takt_cuda_part *p, takt_cuda_graph *g, takt_cuda_call *c,
                    takt_cu_node *last, size_t *count)
{
    void *parameters[1] = {&c->launch.args};
    const takt_cu_kernel_node node = {
        .function = c->function,
        .grid = {c->launch.grid[0], c->launch.grid[1], c->launch.grid[2]},
        .block = {c->launch.threads, 1, 1},
        .shared_bytes = c->launch.shared_bytes,
        .parameters = parameters};
    takt_cu_node made;
    const int result = p->cuda->driver.graph_kernel(&made, g->graph, last, *count, &node);
    *last = made;
    *count = 1;
    return result;
}

static int add_copy(const takt_cuda_part *p, takt_cuda_graph *g, size_t index, void *const *base,
                    takt_cu_node *last, size_t *count)
{
    const takt_step *s = &p->plan->steps[index];
    takt_cu_copy_node node = {.width = s->transfer.bytes, .height = 1, .depth = 1};
    const size_t at = p->steps[index].pinned;
    const takt_cu_side host = {.memory = 1, .host = at != SIZE_MAX ? p->pinned + at : NULL};
    node.from = s->transfer.way == TAKT_COPY_UP
                    ? host
                    : (takt_cu_side){.memory = 2, .device = takt_cuda_place(&s->in[0], base)};
    node.to = s->transfer.way == TAKT_COPY_DOWN
                  ? host
                  : (takt_cu_side){.memory = 2, .device = takt_cuda_place(&s->out[0], base)};
    takt_cu_node made;
    const int result =
        p->cuda->driver.graph_copy(&made, g->graph, last, *count, &node, p->cuda->context);
    *last = made;
    *count = 1;
    return result;
}

static int build(takt_cuda_part *p, takt_cuda_graph *g, void *const *base)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    takt_cu_node last = NULL;
    size_t count = 0;
    int result = d->graph_create(&g->graph, 0);
    for (size_t i = g->first; i < g->end && result == TAKT_CU_OK; i++) {
        takt_cuda_part_step *s = &p->steps[i];
        if (p->plan->steps[i].transfer.way != TAKT_COPY_NONE &&
            p->plan->steps[i].transfer.bytes > 0)
            result = add_copy(p, g, i, base, &last, &count);
        for (size_t k = 0; k < s->count && result == TAKT_CU_OK; k++)
            result = add_call(p, g, &s->calls[k], &last, &count);
    }
    if (result == TAKT_CU_OK)
        result = add_call(p, g, &p->done, &last, &count);
    if (result == TAKT_CU_OK)
        result = d->graph_instantiate(&g->exec, g->graph, 0);
    return result == TAKT_CU_OK ? d->graph_upload(g->exec, p->stream) : result;
}

static takt_status set_graphs(takt_cuda_part *p, void *const *base)
{
    size_t at = 0;
    for (size_t i = 0; i < p->plan->segment_count; i++) {
        const takt_segment *s = &p->plan->segments[i];
        if (s->space != p->space)
            continue;
        takt_cuda_graph *g = &p->graphs[at++];
        g->first = s->first;
        g->end = s->end;
        TAKT_TRY(takt_cuda_check(p->cuda, &p->ctx->error, build(p, g, base), "a graph"));
    }
    return takt_cuda_check(p->cuda, &p->ctx->error, p->cuda->driver.stream_wait(p->stream),
                           "a graph");
}

/* ---- open and close ---- */

static takt_status open_entered(takt_cuda_part *p, void *const *base, unsigned char *arena)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    takt_error *error = &p->ctx->error;
    count_all(p);
    TAKT_TRY(takt_cuda_check(p->cuda, error,
                             d->stream_create(&p->stream, TAKT_CU_STREAM_NON_BLOCKING), "stream"));
    TAKT_TRY(takt_cuda_check(
        p->cuda, error,
        d->event_create(&p->event, TAKT_CU_EVENT_BLOCKING | TAKT_CU_EVENT_NO_TIMING), "event"));
    TAKT_TRY(get_memory(p));
    TAKT_TRY(set_calls(p, base, arena));
    return set_graphs(p, base);
}

takt_status takt_cuda_session_open(void *state, const takt_plan *plan, void *const *base,
                                   unsigned char *arena, void **out)
{
    takt_cuda *c = state;
    void *block;
    *out = NULL;
    TAKT_TRY(takt_mem_zero(plan->ctx, 1, sizeof(takt_cuda_part), "cuda", &block));
    takt_cuda_part *p = block;
    *p = (takt_cuda_part){.cuda = c, .ctx = plan->ctx, .plan = plan};
    for (size_t i = 1; i < plan->space_count; i++)
        if (plan->space[i].device == state)
            p->space = (takt_space)i;
    takt_status status =
        takt_mem_zero(p->ctx, plan->step_count + 1, sizeof *p->steps, "cuda", &block);
    if (status == TAKT_OK) {
        p->steps = block;
        takt_cuda_enter(c);
        status = open_entered(p, base, arena);
        takt_cuda_leave(c);
    }
    if (status != TAKT_OK) {
        takt_cuda_session_close(p);
        return status;
    }
    *out = p;
    return TAKT_OK;
}

void takt_cuda_session_close(void *opened)
{
    takt_cuda_part *p = opened;
    const takt_cuda_driver *d = &p->cuda->driver;
    takt_cuda_enter(p->cuda);
    for (size_t i = 0; p->graphs != NULL && i < p->graph_count; i++) {
        if (p->graphs[i].exec != NULL)
            (void)d->exec_destroy(p->graphs[i].exec);
        if (p->graphs[i].graph != NULL)
            (void)d->graph_destroy(p->graphs[i].graph);
    }
    if (p->event != NULL)
        (void)d->event_destroy(p->event);
    if (p->stream != NULL)
        (void)d->stream_destroy(p->stream);
    if (p->words != 0)
        (void)d->mem_put(p->words);
    if (p->pinned != NULL)
        (void)d->host_put(p->pinned);
    takt_cuda_leave(p->cuda);
    takt_mem_put(p->ctx, p->graphs, (p->graph_count + 1) * sizeof *p->graphs);
    takt_mem_put(p->ctx, p->calls, (p->call_count + 1) * sizeof *p->calls);
    takt_mem_put(p->ctx, p->steps, (p->plan->step_count + 1) * sizeof *p->steps);
    takt_mem_put(p->ctx, p, sizeof *p);
}
