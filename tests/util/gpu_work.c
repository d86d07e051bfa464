/* gpu_work.c - streams, code, launches and graphs of the tests' CUDA driver. */
#include <stdlib.h>
#include <string.h>

#include "util/gpu_state.h"

/* ---- streams, events, code ---- */

static int make(void **object)
{
    GPU_CALL();
    if (gpu.current == NULL)
        gpu_complain("no context is current");
    *object = gpu_hold(1);
    gpu.count.live_objects += *object != NULL;
    return *object != NULL ? TAKT_CU_OK : TAKT_CU_OUT_OF_MEMORY;
}
static int end(void *object)
{
    (void)gpu_call();
    gpu.count.live_objects--;
    gpu_drop(object);
    return TAKT_CU_OK;
}

int gpu_stream_create(takt_cu_stream *stream, unsigned flags)
{
    (void)flags;
    return make((void **)stream);
}
int gpu_stream_destroy(takt_cu_stream stream)
{
    return end(stream);
}
int gpu_event_create(takt_cu_event *event, unsigned flags)
{
    (void)flags;
    return make((void **)event);
}
int gpu_event_destroy(takt_cu_event event)
{
    return end(event);
}
int gpu_event_record(takt_cu_event event, takt_cu_stream stream)
{
    (void)event;
    (void)stream;
    return gpu_call();
}
int gpu_event_elapsed(float *ms, takt_cu_event start, takt_cu_event stop)
{
    (void)start;
    (void)stop;
    *ms = 5;
    return gpu_call();
}
int gpu_module_load(takt_cu_module *module, const void *image)
{
    (void)image;
    return make((void **)module);
}
int gpu_module_unload(takt_cu_module module)
{
    return end(module);
}
int gpu_module_function(takt_cu_function *function, takt_cu_module module, const char *name)
{
    uint32_t threads;
    (void)module;
    GPU_CALL();
    takt_lane_fn *found = grid_find(name, &threads);
    memcpy(function, &found, sizeof found);
    return found != NULL ? TAKT_CU_OK : GPU_INVALID;
}
int gpu_function_set(takt_cu_function function, int attribute, int value)
{
    size_t i = 0;
    GPU_CALL();
    if (attribute == TAKT_CU_MAX_DYNAMIC_SHARED && value > gpu_shared_most())
        return GPU_INVALID;
    while (i < GPU_FUNCTIONS - 1 && gpu.shared[i].function != NULL &&
           gpu.shared[i].function != function)
        i++;
    gpu.shared[i].function = function;
    gpu.shared[i].bytes = attribute == TAKT_CU_MAX_DYNAMIC_SHARED ? (unsigned)value : 0;
    return TAKT_CU_OK;
}

static bool may_share(takt_cu_function function, unsigned bytes)
{
    bool may = bytes <= 48 << 10;
    for (size_t i = 0; i < GPU_FUNCTIONS && !may; i++)
        may = gpu.shared[i].function == function && bytes <= gpu.shared[i].bytes;
    return may;
}

/* ---- launches ---- */

static int run(takt_cu_function function, const unsigned *grid, unsigned threads, unsigned shared,
               void **parameters, bool is_together)
{
    takt_lane_fn *kernel;
    memcpy(&kernel, &function, sizeof kernel);
    const grid_launch l = {.kernel = kernel,
                           .grid = {grid[0], grid[1], grid[2]},
                           .threads = threads,
                           .shared_bytes = shared,
                           .order = gpu.set.order,
                           .is_together = is_together};
    gpu.count.launches++;
    gpu.count.together += is_together;
    if (!may_share(function, shared))
        gpu_complain("more shared memory than the function may have");
    const char *wrong = grid_run(&l, parameters[0]);
    if (wrong != NULL)
        gpu_complain(wrong);
    return wrong == NULL ? TAKT_CU_OK : GPU_LOST;
}

int gpu_launch(takt_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
               unsigned by, unsigned bz, unsigned shared, takt_cu_stream stream, void **parameters,
               void **extra)
{
    const unsigned grid[3] = {gx, gy, gz};
    (void)by;
    (void)bz;
    (void)stream;
    (void)extra;
    GPU_CALL();
    return run(function, grid, bx, shared, parameters, false);
}
int gpu_launch_together(takt_cu_function function, unsigned gx, unsigned gy, unsigned gz,
                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        takt_cu_stream stream, void **parameters)
{
    const unsigned grid[3] = {gx, gy, gz};
    (void)by;
    (void)bz;
    (void)stream;
    GPU_CALL();
    return run(function, grid, bx, shared, parameters, true);
}

/* A graph is a list of nodes; arguments are copied, as the driver does. */
typedef struct node {
    struct node *next;
    takt_cu_kernel_node kernel; /* function NULL: a copy */
    takt_cu_copy_node copy;
    takt_cuda_launch launch; /* the node whose arguments these are */
    bool is_together;
} node;

typedef struct list {
    node *first, *last, *before; /* previous: the last but one */
    bool is_open;                /* nothing to wait for yet */
} list;

int gpu_graph_create(takt_cu_graph *graph, unsigned flags)
{
    (void)flags;
    GPU_CALL();
    *graph = gpu_hold(sizeof(list));
    gpu.count.live_objects++;
    gpu.count.graphs_made++;
    return *graph != NULL ? TAKT_CU_OK : TAKT_CU_OUT_OF_MEMORY;
}
int gpu_graph_destroy(takt_cu_graph graph)
{
    list *l = (list *)(void *)graph;
    (void)gpu_call();
    while (l->first != NULL) {
        node *n = l->first;
        l->first = n->next;
        gpu_drop(n);
    }
    gpu_drop(l);
    gpu.count.live_objects--;
    return TAKT_CU_OK;
}
static int add(takt_cu_node *made, takt_cu_graph graph, const takt_cu_node *after, size_t count,
               node **n)
{
    list *l = (list *)(void *)graph;
    GPU_CALL();
    if (count > 0 && after[0] != (takt_cu_node)(void *)l->last)
        gpu_complain("a node of a graph does not wait for the one before");
    if (l->is_open)
        gpu_complain("a node of a graph waits for nothing");
    l->is_open = count == 0 && l->first != NULL;
    l->before = l->last;
    *n = gpu_hold(sizeof **n);
    if (*n == NULL)
        return TAKT_CU_OUT_OF_MEMORY;
    *(l->first == NULL ? &l->first : &l->last->next) = *n;
    l->last = *n;
    *made = (takt_cu_node)(void *)*n;
    return TAKT_CU_OK;
}
int gpu_graph_kernel(takt_cu_node *made, takt_cu_graph graph, const takt_cu_node *after,
                     size_t count, const takt_cu_kernel_node *kernel)
{
    node *n;
    const int result = add(made, graph, after, count, &n);
    if (result != TAKT_CU_OK)
        return result;
    n->kernel = *kernel;
    memcpy(&n->launch.args, kernel->parameters[0], sizeof n->launch.args);
    return TAKT_CU_OK;
}
int gpu_node_attribute(takt_cu_node made, int attribute, const takt_cu_attribute *value)
{
    node *n = (node *)(void *)made;
    GPU_CALL();
    if (attribute != TAKT_CU_COOPERATIVE || n->kernel.function == NULL)
        gpu_complain("an attribute that the node of a graph does not have");
    n->is_together = value->is_cooperative != 0;
    return TAKT_CU_OK;
}
int gpu_graph_edges(takt_cu_graph graph, const takt_cu_node *from, const takt_cu_node *to,
                    const takt_cu_edge *edges, size_t count)
{
    list *l = (list *)(void *)graph;
    GPU_CALL();
    if (count != 1 || from[0] != (takt_cu_node)(void *)l->before ||
        to[0] != (takt_cu_node)(void *)l->last || edges[0].type != TAKT_CU_PROGRAMMATIC ||
        edges[0].from_port != TAKT_CU_PROGRAMMATIC || l->before->kernel.function == NULL ||
        l->last->kernel.function == NULL || l->before->is_together || l->last->is_together)
        gpu_complain("an edge of a graph that the driver would refuse");
    l->is_open = false;
    return TAKT_CU_OK;
}
int gpu_exec_kernel(takt_cu_exec exec, takt_cu_node at, const takt_cu_kernel_node *kernel)
{
    const list *l = (const list *)(const void *)exec;
    node *n = l->first;
    GPU_CALL();
    while (n != NULL && n != (node *)(void *)at)
        n = n->next;
    if (n == NULL || n->kernel.function != kernel->function) {
        gpu_complain("a node that is not the graph's gets arguments");
        return GPU_INVALID;
    }
    memcpy(&n->launch.args, kernel->parameters[0], sizeof n->launch.args);
    return TAKT_CU_OK;
}
int gpu_graph_copy(takt_cu_node *made, takt_cu_graph graph, const takt_cu_node *after, size_t count,
                   const takt_cu_copy_node *copy, takt_cu_ctx ctx)
{
    node *n;
    (void)ctx;
    const int result = add(made, graph, after, count, &n);
    if (result == TAKT_CU_OK)
        n->copy = *copy;
    return result;
}
int gpu_graph_instantiate(takt_cu_exec *exec, takt_cu_graph graph, unsigned long long flags)
{
    (void)flags;
    GPU_CALL();
    if (((list *)(void *)graph)->is_open)
        gpu_complain("a node of a graph waits for nothing");
    *exec = (takt_cu_exec)(void *)graph;
    gpu.count.live_objects++;
    return TAKT_CU_OK;
}
int gpu_exec_destroy(takt_cu_exec exec)
{
    (void)exec;
    (void)gpu_call();
    gpu.count.live_objects--;
    return TAKT_CU_OK;
}
int gpu_graph_upload(takt_cu_exec exec, takt_cu_stream stream)
{
    (void)exec;
    (void)stream;
    return gpu_call();
}

static int run_copy(const takt_cu_copy_node *c)
{
    const bool up = c->from.memory == 1, down = c->to.memory == 1;
    if ((!up && !gpu_has(c->from.device, c->width)) || (!down && !gpu_has(c->to.device, c->width)))
        return GPU_INVALID;
    gpu.count.up_bytes += up ? c->width : 0;
    gpu.count.down_bytes += down ? c->width : 0;
    void *to = down ? (void *)(uintptr_t)c->to.host : (void *)(uintptr_t)c->to.device;
    const void *from = up ? c->from.host : (const void *)(uintptr_t)c->from.device;
    memmove(to, from, c->width);
    return TAKT_CU_OK;
}

static int run_graph(const list *l)
{
    int result = TAKT_CU_OK;
    for (node *n = l->first; n != NULL && result == TAKT_CU_OK; n = n->next) {
        void *parameters[1] = {&n->launch.args};
        result = n->kernel.function == NULL
                     ? run_copy(&n->copy)
                     : run(n->kernel.function, n->kernel.grid, n->kernel.block[0],
                           n->kernel.shared_bytes, parameters, n->is_together);
    }
    return result;
}

int gpu_graph_launch(takt_cu_exec exec, takt_cu_stream stream)
{
    const list *l = (const list *)(const void *)exec;
    GPU_CALL();
    gpu.count.graph_launches++;
    gpu.count.streamed += stream != NULL && stream == gpu.set.stream;
    if (gpu.is_lost_in_graph) {
        gpu_fail(1, GPU_LOST, true);
        return TAKT_CU_OK;
    }
    if (gpu.is_stuck)
        return TAKT_CU_OK;
    if (!gpu.set.is_late)
        return run_graph(l);
    if (gpu.late_count == GPU_LATE)
        return GPU_INVALID;
    gpu.late[gpu.late_count++] = l;
    return TAKT_CU_OK;
}

static int run_late(void)
{
    int result = TAKT_CU_OK;
    for (size_t i = 0; i < gpu.late_count && result == TAKT_CU_OK; i++)
        result = run_graph(gpu.late[i]);
    gpu.late_count = 0;
    return result;
}
int gpu_stream_wait(takt_cu_stream stream)
{
    (void)stream;
    GPU_CALL();
    return run_late();
}
int gpu_stream_query(takt_cu_stream stream)
{
    (void)stream;
    GPU_CALL();
    return gpu.is_stuck ? TAKT_CU_NOT_READY : run_late();
}
int gpu_event_wait(takt_cu_event event)
{
    (void)event;
    GPU_CALL();
    return run_late();
}
