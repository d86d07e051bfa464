/* session.c - segments of a session as CUDA graphs.
 *
 * When a session is made, every launch gets its addresses, and every segment becomes one graph: its
 * steps in order, then a kernel that writes the number of the run into pinned memory. A run fills
 * in what goes up, launches the graph, and looks at that number. Copies from and to the host go
 * through pinned memory, so that the caller's may lie anywhere. Nothing is built, allocated or
 * instantiated in a run.
 */
#include "backend/cuda/session.h"

#include <string.h>

#include "backend/cuda/step.h"
#include "base/mem.h"
#include "plan/execute.h"

enum { SPIN_NS = 50 * 1000, LOOKS = 64 /* between two looks at the clock */ };

/* A launch with its addresses. */
typedef struct call {
    takt_cu_function function;
    takt_cuda_launch launch;
} call;

typedef struct step {
    call *calls;
    size_t count;
    size_t pinned; /* offset of its copy there; SIZE_MAX: none */
    size_t fault;  /* number of its word; SIZE_MAX: none */
    bool is_mine;
} step;

typedef struct graph {
    size_t first, end;
    takt_cu_graph graph;
    takt_cu_exec exec;
} graph;

typedef struct part {
    takt_cuda *cuda;
    takt_ctx *ctx;
    const takt_plan *plan;
    takt_space space;
    takt_cu_stream stream;
    takt_cu_event event;
    step *steps; /* of the whole plan; those elsewhere have no calls */
    call *calls;
    size_t call_count;
    graph *graphs;
    size_t graph_count;
    unsigned char *pinned; /* the number of the run, fault words, then copies */
    size_t pinned_bytes, fault_count;
    takt_cu_ptr words; /* on the device: runs so far, then fault words */
    call done;
    uint32_t run; /* graphs launched so far */
} part;

enum { HEAD = 64, ALIGN = 256 };

static size_t faults_at(void)
{
    return HEAD;
}

/* ---- addresses ---- */

static uint64_t address(const part *p, const takt_step *s, void *const *base,
                        const unsigned char *arena, uint64_t token)
{
    const uint32_t name = token & 0xffff;
    const uint64_t offset = token >> 16;
    if (name == TAKT_CUDA_SCRATCH)
        return (uint64_t)(uintptr_t)arena + s->scratch_offset + offset;
    if (name == TAKT_CUDA_FAULT)
        return p->words + HEAD + 8 * p->steps[s - p->plan->steps].fault;
    const uint32_t index = (name - TAKT_CUDA_VIEW) / 2;
    const takt_view *v = (name - TAKT_CUDA_VIEW) % 2 != 0 ? &s->out[index] : &s->in[index];
    return (uint64_t)(uintptr_t)base[v->buffer] + v->offset + offset;
}

static takt_status resolve(part *p, const takt_step *s, void *const *base,
                           const unsigned char *arena, call *c)
{
    size_t offsets[TAKT_CUDA_MAP_OPERANDS + TAKT_CUDA_MAP_CODE];
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
    return takt_cuda_function(p->cuda, &c->launch, &p->ctx->error, &c->function);
}

/* ---- what a session holds ---- */

static void count_all(part *p)
{
    p->pinned_bytes = HEAD;
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
            p->call_count += ((const takt_cuda_step *)s->data)->count;
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

static takt_status get_memory(part *p)
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
    memset(p->pinned, 0, HEAD);
    memset(p->pinned + faults_at(), 0xff, 8 * p->fault_count);
    const size_t bytes = HEAD + 8 * p->fault_count;
    TAKT_TRY(takt_cuda_check(p->cuda, error, d->mem_get(&p->words, bytes), "device memory"));
    TAKT_TRY(takt_cuda_check(p->cuda, error, d->fill(p->words, 0, HEAD / 4, p->stream), "fill"));
    if (p->fault_count > 0)
        TAKT_TRY(takt_cuda_check(
            p->cuda, error, d->fill(p->words + HEAD, UINT32_MAX, 2 * p->fault_count, p->stream),
            "fill"));
    return takt_cuda_check(p->cuda, error, d->stream_wait(p->stream), "fill");
}

static takt_status set_calls(part *p, void *const *base, const unsigned char *arena)
{
    call *next = p->calls;
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
                              .faults = (uint64_t *)(uintptr_t)(p->words + HEAD),
                              .faults_seen = (uint64_t *)(void *)(p->pinned + faults_at()),
                              .fault_count = (uint32_t)p->fault_count};
    return takt_cuda_function(p->cuda, &p->done.launch, &p->ctx->error, &p->done.function);
}

/* ---- graphs ---- */

static int add_call(const part *p, graph *g, call *c, takt_cu_node *last, size_t *count)
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

static takt_cu_ptr place_of(const takt_view *v, void *const *base)
{
    return (takt_cu_ptr)(uintptr_t)base[v->buffer] + v->offset;
}

static int add_copy(const part *p, graph *g, size_t index, void *const *base, takt_cu_node *last,
                    size_t *count)
{
    const takt_step *s = &p->plan->steps[index];
    takt_cu_copy_node node = {.width = s->transfer.bytes, .height = 1, .depth = 1};
    const takt_cu_side host = {.memory = 1, .host = p->pinned + p->steps[index].pinned};
    node.from = s->transfer.way == TAKT_COPY_UP
                    ? host
                    : (takt_cu_side){.memory = 2, .device = place_of(&s->in[0], base)};
    node.to = s->transfer.way == TAKT_COPY_DOWN
                  ? host
                  : (takt_cu_side){.memory = 2, .device = place_of(&s->out[0], base)};
    takt_cu_node made;
    const int result =
        p->cuda->driver.graph_copy(&made, g->graph, last, *count, &node, p->cuda->context);
    *last = made;
    *count = 1;
    return result;
}

static int build(part *p, graph *g, void *const *base)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    takt_cu_node last = NULL;
    size_t count = 0;
    int result = d->graph_create(&g->graph, 0);
    for (size_t i = g->first; i < g->end && result == TAKT_CU_OK; i++) {
        step *s = &p->steps[i];
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

static takt_status set_graphs(part *p, void *const *base)
{
    size_t at = 0;
    for (size_t i = 0; i < p->plan->segment_count; i++) {
        const takt_segment *s = &p->plan->segments[i];
        if (s->space != p->space)
            continue;
        graph *g = &p->graphs[at++];
        g->first = s->first;
        g->end = s->end;
        TAKT_TRY(takt_cuda_check(p->cuda, &p->ctx->error, build(p, g, base), "a graph"));
    }
    return takt_cuda_check(p->cuda, &p->ctx->error, p->cuda->driver.stream_wait(p->stream),
                           "a graph");
}

/* ---- open and close ---- */

static takt_status open_entered(part *p, void *const *base, unsigned char *arena)
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
    TAKT_TRY(takt_mem_zero(plan->ctx, 1, sizeof(part), "cuda", &block));
    part *p = block;
    *p = (part){.cuda = c, .ctx = plan->ctx, .plan = plan};
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
    part *p = opened;
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

/* ---- running ---- */

/* Steps one by one: for whoever watches each. */
static int launch_steps(part *p, const takt_execution *x, const takt_segment *g)
{
    const takt_cuda_driver *d = &p->cuda->driver;
    int result = TAKT_CU_OK;
    for (size_t i = g->first; i <= g->end && result == TAKT_CU_OK; i++) {
        call *calls = i < g->end ? p->steps[i].calls : &p->done;
        const size_t count = i < g->end ? p->steps[i].count : 1;
        if (i < g->end && p->plan->steps[i].transfer.way != TAKT_COPY_NONE) {
            const takt_step *s = &p->plan->steps[i];
            void *pinned = p->pinned + p->steps[i].pinned;
            const size_t bytes = s->transfer.bytes;
            result = s->transfer.way == TAKT_COPY_UP
                         ? d->copy_up(place_of(&s->out[0], x->base), pinned, bytes, p->stream)
                     : s->transfer.way == TAKT_COPY_DOWN
                         ? d->copy_down(pinned, place_of(&s->in[0], x->base), bytes, p->stream)
                         : d->copy_within(place_of(&s->out[0], x->base),
                                          place_of(&s->in[0], x->base), bytes, p->stream);
        }
        for (size_t k = 0; k < count && result == TAKT_CU_OK; k++) {
            const takt_cuda_launch *l = &calls[k].launch;
            void *parameters[1] = {&calls[k].launch.args};
            result = d->launch(calls[k].function, l->grid[0], l->grid[1], l->grid[2], l->threads, 1,
                               1, l->shared_bytes, p->stream, parameters, NULL);
        }
    }
    return result;
}

static takt_status refuse_lost(const part *p, takt_error *error)
{
    return takt_cuda_check(p->cuda, error, atomic_load(&p->cuda->lost), "the device failed before");
}

takt_status takt_cuda_enqueue(void *opened, const takt_execution *x, const takt_segment *g)
{
    part *p = opened;
    if (atomic_load(&p->cuda->lost) != 0)
        return refuse_lost(p, x->error);
    for (size_t i = g->first; i < g->end; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (s->transfer.way == TAKT_COPY_UP)
            memcpy(p->pinned + p->steps[i].pinned,
                   (const char *)x->base[s->in[0].buffer] + s->in[0].offset, s->transfer.bytes);
    }
    p->run++;
    takt_cuda_enter(p->cuda);
    int result = -1;
    for (size_t i = 0; i < p->graph_count; i++)
        if (p->graphs[i].first == g->first && p->graphs[i].end == g->end)
            result = p->cuda->driver.graph_launch(p->graphs[i].exec, p->stream);
    if (result == -1)
        result = launch_steps(p, x, g);
    if (result != TAKT_CU_OK) { /* what was begun, ends */
        (void)p->cuda->driver.stream_wait(p->stream);
        p->run--;
    }
    takt_cuda_leave(p->cuda);
    return takt_cuda_check(p->cuda, x->error, result, "a segment cannot be launched");
}

static bool is_done(const part *p)
{
    const _Atomic uint32_t *seen = (const _Atomic uint32_t *)(const void *)p->pinned;
    return atomic_load_explicit(seen, memory_order_acquire) == p->run;
}

/* Looks for a while, then sleeps. */
static int await(part *p)
{
    const takt_ctx *ctx = p->ctx;
    const uint64_t end = ctx->now_ns(ctx->clock_user) + SPIN_NS;
    do
        for (int i = 0; i < LOOKS; i++)
            if (is_done(p))
                return TAKT_CU_OK;
    while (ctx->now_ns(ctx->clock_user) < end);
    takt_cuda_enter(p->cuda);
    int result = p->cuda->driver.event_record(p->event, p->stream);
    if (result == TAKT_CU_OK)
        result = p->cuda->driver.event_wait(p->event);
    takt_cuda_leave(p->cuda);
    return result;
}

/* The first step whose word is set; the host reads the index that was bad. */
static takt_status report_fault(part *p, const takt_execution *x, const takt_segment *g,
                                size_t *found)
{
    const uint64_t *words = (const uint64_t *)(const void *)(p->pinned + faults_at());
    for (size_t i = g->first; i < g->end; i++) {
        const size_t word = p->steps[i].fault;
        if (word == SIZE_MAX || words[word] == TAKT_FAULT_NONE)
            continue;
        const takt_view *v = &p->plan->steps[i].in[1];
        const size_t bytes = v->dtype == TAKT_I32 ? 4 : 8;
        int32_t narrow = 0;
        takt_fault fault = {.index = words[word]};
        const char *at = (const char *)(uintptr_t)place_of(v, x->base) + words[word] * bytes;
        TAKT_TRY(takt_cuda_memory.copy(p->cuda, TAKT_COPY_DOWN,
                                       bytes == 4 ? (void *)&narrow : (void *)&fault.value, at,
                                       bytes));
        fault.value = bytes == 4 ? narrow : fault.value;
        takt_fault_merge(x->fault, &fault);
        *found = i;
        break;
    }
    return TAKT_OK;
}

takt_status takt_cuda_wait(void *opened, const takt_execution *x, const takt_segment *g,
                           size_t *found)
{
    part *p = opened;
    TAKT_TRY(takt_cuda_check(p->cuda, x->error, await(p), "a segment failed"));
    for (size_t i = g->first; i < g->end; i++) {
        const takt_step *s = &p->plan->steps[i];
        if (s->transfer.way == TAKT_COPY_DOWN)
            memcpy((char *)x->base[s->out[0].buffer] + s->out[0].offset,
                   p->pinned + p->steps[i].pinned, s->transfer.bytes);
    }
    return p->fault_count > 0 ? report_fault(p, x, g, found) : TAKT_OK;
}
