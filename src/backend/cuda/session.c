/* session.c - segments of a session as CUDA graphs.
 *
 * When a session is made, every launch gets its addresses, and every segment becomes one graph: its
 * steps in order, then a kernel that writes the number of the run into pinned memory. Copies from
 * and to the host go through pinned memory, so the caller's memory may be anywhere. run.c uses all
 * this and creates nothing.
 */
#include "backend/cuda/session.h"

#include <string.h>

#include "backend/cuda/part.h"
#include "backend/cuda/step.h"
#include "base/mem.h"
#include "base/size.h"

enum { ALIGN = TAKT_CUDA_PINNED };

/* ---- addresses ---- */

static uint64_t address(const takt_cuda_part *p, const takt_step *s, const takt_cuda_call *c,
                        uint64_t token)
{
    const uint32_t name = token & 0xffff;
    const uint64_t offset = token >> 16;
    if (name == TAKT_CUDA_SCRATCH)
        return (uint64_t)(uintptr_t)p->arena + s->scratch_offset + offset;
    if (name == TAKT_CUDA_TICKETS)
        return p->words + p->tickets_at + 4 * c->ticket;
    if (name == TAKT_CUDA_FAULT)
        return p->words + TAKT_CUDA_HEAD + 8 * p->steps[s - p->plan->steps].fault;
    const uint32_t index = (name - TAKT_CUDA_VIEW) / 2;
    const takt_view *v = (name - TAKT_CUDA_VIEW) % 2 != 0 ? &s->out[index] : &s->in[index];
    return (uint64_t)(uintptr_t)p->base[v->buffer] + v->offset + offset;
}

void takt_cuda_resolve(const takt_cuda_part *p, const takt_step *s, takt_cuda_call *c)
{
    size_t offsets[TAKT_CUDA_MAP_OPERANDS + TAKT_CUDA_MAP_CODE + 1];
    const size_t count = takt_cuda_pointers(&c->launch, offsets, sizeof offsets / sizeof *offsets);
    for (size_t i = 0; i < count; i++) {
        uint64_t token;
        char *at = (char *)&c->launch.args + offsets[i];
        memcpy(&token, at, sizeof token);
        if (token != TAKT_CUDA_NONE) {
            token = address(p, s, c, token);
            memcpy(at, &token, sizeof token);
        }
    }
}

/* ---- what a session holds ---- */

static void count_all(takt_cuda_part *p)
{
    p->pinned_bytes = TAKT_CUDA_HEAD;
    for (size_t i = 0; i < p->plan->segment_count; i++) {
        const takt_segment *g = &p->plan->segments[i];
        p->graph_count += g->space == p->space && !p->plan->steps[g->first].is_driven;
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
                p->ticket_count += takt_cuda_tickets(&own->launches[k]);
            p->steps[i].fault = s->can_fault ? p->fault_count++ : SIZE_MAX;
        }
    }
    p->pinned_bytes += takt_round_up(8 * p->fault_count, ALIGN);
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (!p->steps[i].is_mine ||
            (s->transfer.way != TAKT_COPY_UP && s->transfer.way != TAKT_COPY_DOWN))
            continue;
        p->steps[i].pinned = p->pinned_bytes;
        p->pinned_bytes += takt_round_up(s->transfer.bytes, ALIGN);
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
    p->tickets_at = takt_cuda_counters(p->fault_count, 0);
    const size_t bytes = takt_cuda_counters(p->fault_count, p->ticket_count);
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

/* A kernel that begins while its predecessor ends finds most multiprocessors busy, and its blocks
 * would crowd onto the few that are free: 392 tiles took as long as 528, four on each, and left a
 * quarter of the device idle. For a small grid, a block therefore requests so much shared memory
 * that a multiprocessor holds no more blocks than its share. */
static void keep_apart(const takt_cuda *c, takt_cuda_launch *l)
{
    enum { MANY = 3, OWN = 1024 /* bytes that the device adds to a block's */ };
    const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    const uint64_t all = (uint64_t)c->facts.processors;
    const uint64_t each = all > 0 ? (blocks + all - 1) / all : 0;
    const uint64_t most = (uint64_t)c->facts.shared_bytes, more = most / (each + 1) + OWN;
    if (c->is_early && l->is_heavy && each >= 1 && each <= MANY && l->shared_bytes < more &&
        more <= most)
        l->shared_bytes = (uint32_t)more;
}

static takt_status set_calls(takt_cuda_part *p)
{
    takt_cuda_call *next = p->calls;
    size_t tickets = 0;
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (!p->steps[i].is_mine || s->transfer.way != TAKT_COPY_NONE)
            continue;
        const takt_cuda_step *own = s->data;
        p->steps[i].calls = next;
        p->steps[i].count = own->count;
        for (size_t k = 0; k < own->count; k++, next++) {
            next->launch = own->launches[k];
            keep_apart(p->cuda, &next->launch);
            next->ticket = tickets;
            tickets += takt_cuda_tickets(&next->launch);
            takt_cuda_resolve(p, s, next);
            TAKT_TRY(takt_cuda_function(p->cuda, &next->launch, &p->ctx->error, &next->function));
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

/* The last node of a graph under construction. */
typedef struct tail {
    takt_cu_node node;
    size_t count; /* 0: there is none */
    bool is_kernel;
} tail;

takt_cu_kernel_node takt_cuda_node_of(takt_cuda_call *c, void **parameters)
{
    parameters[0] = &c->launch.args;
    return (takt_cu_kernel_node){.function = c->function,
                                 .grid = {c->launch.grid[0], c->launch.grid[1], c->launch.grid[2]},
                                 .block = {c->launch.threads, 1, 1},
                                 .shared_bytes = c->launch.shared_bytes,
                                 .parameters = parameters};
}

enum { WAITING = 8192 }; /* blocks of a grid that wait: takt_begin of kernel/cuda/lang.h */

/* A kernel may begin while the previous one ends, if all of its blocks wait for earlier writes. A
 * kernel whose blocks wait for each other has the device to itself. */
static int add_call(const takt_cuda_part *p, takt_cuda_graph *g, takt_cuda_call *c, tail *last)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    void *parameters[1];
    const takt_cu_kernel_node node = takt_cuda_node_of(c, parameters);
    const bool is_early = last->is_kernel && p->cuda->is_early && c->launch.grid[0] <= WAITING &&
                          !c->launch.is_together;
    const takt_cu_edge edge = {.from_port = TAKT_CU_PROGRAMMATIC, .type = TAKT_CU_PROGRAMMATIC};
    int result =
        d->graph_kernel(&c->node, g->graph, &last->node, is_early ? 0 : last->count, &node);
    if (result == TAKT_CU_OK && is_early)
        result = d->graph_edges(g->graph, &last->node, &c->node, &edge, 1);
    const takt_cu_attribute together = {.is_cooperative = 1};
    if (result == TAKT_CU_OK && c->launch.is_together)
        result = d->node_attribute(c->node, TAKT_CU_COOPERATIVE, &together);
    *last = (tail){c->node, 1, !c->launch.is_together};
    return result;
}

static int add_copy(const takt_cuda_part *p, takt_cuda_graph *g, size_t index, tail *last)
{
    const takt_step *s = &p->plan->steps[index];
    takt_cu_copy_node node = {.width = s->transfer.bytes, .height = 1, .depth = 1};
    const size_t at = p->steps[index].pinned;
    const bool is_host = p->steps[index].side == TAKT_CUDA_HOST;
    const takt_cu_side host = {.memory = 1, .host = at != SIZE_MAX ? p->pinned + at : NULL};
    node.from = s->transfer.way == TAKT_COPY_UP && is_host
                    ? host
                    : (takt_cu_side){.memory = 2, .device = takt_cuda_place(&s->in[0], p->base)};
    node.to = s->transfer.way == TAKT_COPY_DOWN && is_host
                  ? host
                  : (takt_cu_side){.memory = 2, .device = takt_cuda_place(&s->out[0], p->base)};
    takt_cu_node made;
    const int result = p->cuda->driver.graph_copy(&made, g->graph, &last->node, last->count, &node,
                                                  p->cuda->context);
    *last = (tail){made, 1, false};
    return result;
}

bool takt_cuda_is_copied(const takt_cuda_part *p, size_t index)
{
    const takt_transfer *t = &p->plan->steps[index].transfer;
    return t->way != TAKT_COPY_NONE && t->bytes > 0 && p->steps[index].side != TAKT_CUDA_SAME;
}

int takt_cuda_build_graph(takt_cuda_part *p, takt_cuda_graph *g)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    tail last = {NULL, 0, false};
    int result = d->graph_create(&g->graph, 0);
    for (size_t i = g->first; i < g->end && result == TAKT_CU_OK; i++) {
        takt_cuda_part_step *s = &p->steps[i];
        if (takt_cuda_is_copied(p, i))
            result = add_copy(p, g, i, &last);
        for (size_t k = 0; k < s->count && result == TAKT_CU_OK; k++)
            result = add_call(p, g, &s->calls[k], &last);
    }
    if (result == TAKT_CU_OK)
        result = add_call(p, g, &p->done, &last);
    if (result == TAKT_CU_OK)
        result = d->graph_instantiate(&g->exec, g->graph, 0);
    return result == TAKT_CU_OK ? d->graph_upload(g->exec, p->stream) : result;
}

void takt_cuda_drop_graph(const takt_cuda_part *p, takt_cuda_graph *g)
{
    if (g->exec != NULL)
        (void)p->cuda->driver.exec_destroy(g->exec);
    if (g->graph != NULL)
        (void)p->cuda->driver.graph_destroy(g->graph);
    g->exec = NULL;
    g->graph = NULL;
}

static takt_status set_graphs(takt_cuda_part *p)
{
    size_t at = 0;
    for (size_t i = 0; i < p->plan->segment_count; i++) {
        const takt_segment *s = &p->plan->segments[i];
        if (s->space != p->space || p->plan->steps[s->first].is_driven)
            continue;
        takt_cuda_graph *g = &p->graphs[at++];
        g->first = s->first;
        g->end = s->end;
        TAKT_TRY(takt_cuda_check(p->cuda, &p->ctx->error, takt_cuda_build_graph(p, g), "a graph"));
    }
    return takt_cuda_check(p->cuda, &p->ctx->error, p->cuda->driver.stream_wait(p->stream),
                           "a graph");
}

/* ---- open and close ---- */

takt_status takt_cuda_session_stream(void *opened, void *stream)
{
    takt_cuda_part *p = opened;
    p->stream = stream;
    return TAKT_OK;
}

static takt_status open_entered(takt_cuda_part *p)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    takt_error *error = &p->ctx->error;
    count_all(p);
    TAKT_TRY(takt_cuda_check(
        p->cuda, error, d->stream_create(&p->own_stream, TAKT_CU_STREAM_NON_BLOCKING), "stream"));
    p->stream = p->own_stream;
    TAKT_TRY(get_memory(p));
    TAKT_TRY(set_calls(p));
    return set_graphs(p);
}

takt_status takt_cuda_session_open(void *state, const takt_plan *plan, void *const *base,
                                   unsigned char *arena, void **out)
{
    takt_cuda *c = state;
    void *block;
    *out = NULL;
    TAKT_TRY(takt_cuda_usable(c, &plan->ctx->error));
    TAKT_TRY(takt_mem_zero(plan->ctx, 1, sizeof(takt_cuda_part), "cuda", &block));
    takt_cuda_part *p = block;
    *p = (takt_cuda_part){.cuda = c, .ctx = plan->ctx, .plan = plan, .base = base, .arena = arena};
    for (size_t i = 1; i < plan->space_count; i++)
        if (plan->space[i].device == state)
            p->space = (takt_space)i;
    takt_status status =
        takt_mem_zero(p->ctx, plan->step_count + 1, sizeof *p->steps, "cuda", &block);
    if (status == TAKT_OK) {
        p->steps = block;
        takt_cuda_enter(c);
        status = open_entered(p);
        takt_cuda_leave(c);
    }
    for (size_t i = 0; status == TAKT_OK && i < plan->step_count; i++)
        if (p->steps[i].is_mine && plan->steps[i].is_driven)
            status = takt_cuda_body_open(p, i);
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
    for (size_t i = 0; p->steps != NULL && i < p->plan->step_count; i++)
        takt_cuda_body_close(p, i);
    takt_cuda_enter(p->cuda);
    if (!atomic_load(&p->cuda->is_stuck)) {
        for (size_t i = 0; p->graphs != NULL && i < p->graph_count; i++)
            takt_cuda_drop_graph(p, &p->graphs[i]);
        if (p->own_stream != NULL)
            (void)d->stream_destroy(p->own_stream);
        if (p->words != 0)
            (void)d->mem_put(p->words);
        if (p->pinned != NULL)
            (void)d->host_put(p->pinned);
    }
    takt_cuda_leave(p->cuda);
    takt_mem_put(p->ctx, p->graphs, (p->graph_count + 1) * sizeof *p->graphs);
    takt_mem_put(p->ctx, p->calls, (p->call_count + 1) * sizeof *p->calls);
    takt_mem_put(p->ctx, p->steps, (p->plan->step_count + 1) * sizeof *p->steps);
    takt_mem_put(p->ctx, p, sizeof *p);
}
