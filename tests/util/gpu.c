/* gpu.c - a CUDA driver of the tests. */
#include "util/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "backend/list.h"

enum { ZONE = 256, BLOCKS = 4096, INVALID = 1, LOST = 719 };

static struct {
    gpu_settings set;
    gpu_counts count;
    struct block {
        unsigned char *at; /* red zone before it, and after */
        size_t bytes;
    } blocks[BLOCKS];
    takt_cu_ctx current;
} gpu;

/* Every function begins so. */
static int call(void)
{
    gpu.count.calls++;
    if (gpu.set.fail_call == 0 || gpu.count.calls < gpu.set.fail_call ||
        (gpu.count.calls > gpu.set.fail_call && !gpu.set.fail_ever))
        return TAKT_CU_OK;
    return gpu.set.fail_result;
}
#define CALL()                                                                                     \
    do {                                                                                           \
        const int called_ = call();                                                                \
        if (called_ != TAKT_CU_OK)                                                                 \
            return called_;                                                                        \
    } while (0)

static void complain(const char *why)
{
    gpu.count.wrong = gpu.count.wrong == NULL ? why : gpu.count.wrong;
}

/* ---- the device ---- */

static int init(unsigned flags)
{
    (void)flags;
    CALL();
    return gpu.set.init_result;
}
static int driver_version(int *version)
{
    CALL();
    *version = gpu.set.driver;
    return TAKT_CU_OK;
}
static int device_count(int *count)
{
    CALL();
    *count = gpu.set.devices < 0 ? 0 : gpu.set.devices;
    return TAKT_CU_OK;
}
static int device_get(int *device, int ordinal)
{
    CALL();
    *device = ordinal;
    return TAKT_CU_OK;
}
static int device_name(char *name, int size, int device)
{
    (void)device;
    CALL();
    strncpy(name, "Test GPU", (size_t)size);
    return TAKT_CU_OK;
}
static int device_attribute(int *value, int attribute, int device)
{
    enum { PROCESSORS = 8 };
    (void)device;
    CALL();
    *value = attribute == TAKT_CU_PROCESSORS ? PROCESSORS
             : attribute == TAKT_CU_MAJOR    ? gpu.set.capability / 10
                                             : gpu.set.capability % 10;
    return TAKT_CU_OK;
}
static int device_total(size_t *bytes, int device)
{
    (void)device;
    CALL();
    *bytes = gpu.set.memory;
    return TAKT_CU_OK;
}
static int primary_retain(takt_cu_ctx *ctx, int device)
{
    (void)device;
    CALL();
    *ctx = (takt_cu_ctx)(void *)&gpu;
    gpu.count.live_objects++;
    return TAKT_CU_OK;
}
static int primary_release(int device)
{
    (void)device;
    (void)call();
    gpu.count.live_objects--;
    return TAKT_CU_OK;
}
static int ctx_push(takt_cu_ctx ctx)
{
    if (gpu.current != NULL)
        complain("a context is pushed twice");
    gpu.current = ctx;
    return TAKT_CU_OK;
}
static int ctx_pop(takt_cu_ctx *ctx)
{
    *ctx = gpu.current;
    gpu.current = NULL;
    return TAKT_CU_OK;
}
static int error_string(int error, const char **text)
{
    *text = error == TAKT_CU_OUT_OF_MEMORY ? "out of memory"
            : error == LOST                ? "unspecified launch failure"
                                           : "an error of the tests";
    return TAKT_CU_OK;
}

/* ---- memory ---- */

static int mem_info(size_t *left, size_t *total)
{
    CALL();
    *total = gpu.set.memory;
    *left = gpu.set.memory - gpu.count.live_bytes;
    return TAKT_CU_OK;
}

static struct block *block_of(takt_cu_ptr ptr)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (gpu.blocks[i].at != NULL && ptr >= (takt_cu_ptr)(uintptr_t)gpu.blocks[i].at &&
            ptr <= (takt_cu_ptr)(uintptr_t)gpu.blocks[i].at + gpu.blocks[i].bytes)
            return &gpu.blocks[i];
    return NULL;
}

static int mem_get(takt_cu_ptr *ptr, size_t bytes)
{
    CALL();
    size_t i = 0;
    while (i < BLOCKS && gpu.blocks[i].at != NULL)
        i++;
    if (bytes == 0 || i == BLOCKS || gpu.count.live_bytes + bytes > gpu.set.memory)
        return bytes == 0 ? INVALID : TAKT_CU_OUT_OF_MEMORY;
    unsigned char *all = aligned_alloc(ZONE, (bytes + 3 * ZONE - 1) / ZONE * ZONE);
    if (all == NULL)
        return TAKT_CU_OUT_OF_MEMORY;
    memset(all, 0xa5, ZONE);
    memset(all + ZONE, 0xff, bytes);
    memset(all + ZONE + bytes, 0xa5, ZONE);
    gpu.blocks[i] = (struct block){all + ZONE, bytes};
    gpu.count.live_bytes += bytes;
    if (gpu.count.live_bytes > gpu.count.peak_bytes)
        gpu.count.peak_bytes = gpu.count.live_bytes;
    *ptr = (takt_cu_ptr)(uintptr_t)(all + ZONE);
    return TAKT_CU_OK;
}

static int mem_put(takt_cu_ptr ptr)
{
    struct block *b = block_of(ptr);
    (void)call();
    if (b == NULL || (takt_cu_ptr)(uintptr_t)b->at != ptr) {
        complain("memory is given back that was not taken");
        return INVALID;
    }
    for (size_t i = 0; i < ZONE; i++)
        if (b->at[b->bytes + i] != 0xa5 || b->at[-1 - (ptrdiff_t)i] != 0xa5)
            complain("something wrote beyond its device memory");
    gpu.count.live_bytes -= b->bytes;
    free(b->at - ZONE);
    b->at = NULL;
    return TAKT_CU_OK;
}

static int host_get(void **data, size_t bytes, unsigned flags)
{
    (void)flags;
    CALL();
    size_t *all = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (all == NULL)
        return TAKT_CU_OUT_OF_MEMORY;
    all[0] = bytes;
    gpu.count.pinned_bytes += bytes;
    *data = (char *)all + 64;
    return TAKT_CU_OK;
}
static int host_put(void *data)
{
    size_t *all = (size_t *)(void *)((char *)data - 64);
    (void)call();
    gpu.count.pinned_bytes -= all[0];
    free(all);
    return TAKT_CU_OK;
}

/* Whether [ptr, ptr + bytes) lies in one block. */
static bool is_there(takt_cu_ptr ptr, size_t bytes)
{
    const struct block *b = block_of(ptr);
    const bool inside = b != NULL && ptr + bytes <= (takt_cu_ptr)(uintptr_t)b->at + b->bytes;
    if (!inside)
        complain("a copy from or to what is no device memory");
    return inside;
}

static int copy_up(takt_cu_ptr to, const void *from, size_t bytes, takt_cu_stream stream)
{
    (void)stream;
    CALL();
    if (!is_there(to, bytes))
        return INVALID;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return TAKT_CU_OK;
}
static int copy_down(void *to, takt_cu_ptr from, size_t bytes, takt_cu_stream stream)
{
    (void)stream;
    CALL();
    if (!is_there(from, bytes))
        return INVALID;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return TAKT_CU_OK;
}
static int copy_within(takt_cu_ptr to, takt_cu_ptr from, size_t bytes, takt_cu_stream stream)
{
    (void)stream;
    CALL();
    if (!is_there(from, bytes) || !is_there(to, bytes))
        return INVALID;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return TAKT_CU_OK;
}
static int fill(takt_cu_ptr to, unsigned value, size_t count, takt_cu_stream stream)
{
    (void)stream;
    CALL();
    if (!is_there(to, 4 * count))
        return INVALID;
    for (size_t i = 0; i < count; i++)
        ((unsigned *)(uintptr_t)to)[i] = value;
    return TAKT_CU_OK;
}

/* ---- streams, events, code ---- */

static int make(void **object)
{
    CALL();
    if (gpu.current == NULL)
        complain("no context is current");
    *object = malloc(1);
    gpu.count.live_objects += *object != NULL;
    return *object != NULL ? TAKT_CU_OK : TAKT_CU_OUT_OF_MEMORY;
}
static int end(void *object)
{
    (void)call();
    gpu.count.live_objects--;
    free(object);
    return TAKT_CU_OK;
}

static int stream_create(takt_cu_stream *stream, unsigned flags)
{
    (void)flags;
    return make((void **)stream);
}
static int stream_destroy(takt_cu_stream stream)
{
    return end(stream);
}
static int stream_query(takt_cu_stream stream)
{
    (void)stream;
    return call();
}
static int stream_wait(takt_cu_stream stream)
{
    (void)stream;
    return call();
}
static int event_create(takt_cu_event *event, unsigned flags)
{
    (void)flags;
    return make((void **)event);
}
static int event_destroy(takt_cu_event event)
{
    return end(event);
}
static int event_record(takt_cu_event event, takt_cu_stream stream)
{
    (void)event;
    (void)stream;
    return call();
}
static int event_wait(takt_cu_event event)
{
    (void)event;
    return call();
}
static int event_elapsed(float *ms, takt_cu_event start, takt_cu_event stop)
{
    (void)start;
    (void)stop;
    *ms = 0;
    return call();
}
static int module_load(takt_cu_module *module, const void *image)
{
    (void)image;
    return make((void **)module);
}
static int module_unload(takt_cu_module module)
{
    return end(module);
}
static int module_function(takt_cu_function *function, takt_cu_module module, const char *name)
{
    uint32_t threads;
    (void)module;
    CALL();
    takt_lane_fn *found = grid_find(name, &threads);
    memcpy(function, &found, sizeof found);
    return found != NULL ? TAKT_CU_OK : INVALID;
}
static int function_set(takt_cu_function function, int attribute, int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return call();
}

/* ---- launches ---- */

static int run(takt_cu_function function, const unsigned *grid, unsigned threads, unsigned shared,
               void **parameters)
{
    takt_lane_fn *kernel;
    memcpy(&kernel, &function, sizeof kernel);
    const grid_launch l = {.kernel = kernel,
                           .grid = {grid[0], grid[1], grid[2]},
                           .threads = threads,
                           .shared_bytes = shared,
                           .order = gpu.set.order};
    gpu.count.launches++;
    const char *wrong = grid_run(&l, parameters[0]);
    if (wrong != NULL)
        complain(wrong);
    return wrong == NULL ? TAKT_CU_OK : LOST;
}

static int launch(takt_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                  unsigned by, unsigned bz, unsigned shared, takt_cu_stream stream,
                  void **parameters, void **extra)
{
    const unsigned grid[3] = {gx, gy, gz};
    (void)by;
    (void)bz;
    (void)stream;
    (void)extra;
    CALL();
    return run(function, grid, bx, shared, parameters);
}

/* A graph is a list of nodes; arguments are copied, as the driver does. */
typedef struct node {
    struct node *next;
    takt_cu_kernel_node kernel; /* function NULL: a copy */
    takt_cu_copy_node copy;
    takt_cuda_launch launch; /* whose arguments these are */
} node;

typedef struct list {
    node *first, *last;
} list;

static int graph_create(takt_cu_graph *graph, unsigned flags)
{
    (void)flags;
    CALL();
    *graph = calloc(1, sizeof(list));
    gpu.count.live_objects++;
    gpu.count.graphs_made++;
    return *graph != NULL ? TAKT_CU_OK : TAKT_CU_OUT_OF_MEMORY;
}
static int graph_destroy(takt_cu_graph graph)
{
    list *l = (list *)(void *)graph;
    (void)call();
    while (l->first != NULL) {
        node *n = l->first;
        l->first = n->next;
        free(n);
    }
    free(l);
    gpu.count.live_objects--;
    return TAKT_CU_OK;
}
static int add(takt_cu_node *made, takt_cu_graph graph, const takt_cu_node *after, size_t count,
               node **n)
{
    list *l = (list *)(void *)graph;
    CALL();
    if (count != (l->first != NULL) || (count > 0 && after[0] != (takt_cu_node)(void *)l->last))
        complain("a node of a graph does not wait for the one before");
    *n = calloc(1, sizeof **n);
    if (*n == NULL)
        return TAKT_CU_OUT_OF_MEMORY;
    *(l->first == NULL ? &l->first : &l->last->next) = *n;
    l->last = *n;
    *made = (takt_cu_node)(void *)*n;
    return TAKT_CU_OK;
}
static int graph_kernel(takt_cu_node *made, takt_cu_graph graph, const takt_cu_node *after,
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
static int graph_copy(takt_cu_node *made, takt_cu_graph graph, const takt_cu_node *after,
                      size_t count, const takt_cu_copy_node *copy, takt_cu_ctx ctx)
{
    node *n;
    (void)ctx;
    const int result = add(made, graph, after, count, &n);
    if (result == TAKT_CU_OK)
        n->copy = *copy;
    return result;
}
static int graph_instantiate(takt_cu_exec *exec, takt_cu_graph graph, unsigned long long flags)
{
    (void)flags;
    CALL();
    *exec = (takt_cu_exec)(void *)graph;
    gpu.count.live_objects++;
    return TAKT_CU_OK;
}
static int exec_destroy(takt_cu_exec exec)
{
    (void)exec;
    (void)call();
    gpu.count.live_objects--;
    return TAKT_CU_OK;
}
static int graph_upload(takt_cu_exec exec, takt_cu_stream stream)
{
    (void)exec;
    (void)stream;
    return call();
}

static int run_copy(const takt_cu_copy_node *c)
{
    const bool up = c->from.memory == 1, down = c->to.memory == 1;
    if ((!up && !is_there(c->from.device, c->width)) ||
        (!down && !is_there(c->to.device, c->width)))
        return INVALID;
    void *to = down ? (void *)(uintptr_t)c->to.host : (void *)(uintptr_t)c->to.device;
    const void *from = up ? c->from.host : (const void *)(uintptr_t)c->from.device;
    memmove(to, from, c->width);
    return TAKT_CU_OK;
}

static int graph_launch(takt_cu_exec exec, takt_cu_stream stream)
{
    const list *l = (const list *)(const void *)exec;
    int result = TAKT_CU_OK;
    (void)stream;
    CALL();
    gpu.count.graph_launches++;
    for (node *n = l->first; n != NULL && result == TAKT_CU_OK; n = n->next) {
        void *parameters[1] = {&n->launch.args};
        result = n->kernel.function == NULL
                     ? run_copy(&n->copy)
                     : run(n->kernel.function, n->kernel.grid, n->kernel.block[0],
                           n->kernel.shared_bytes, parameters);
    }
    return result;
}

/* ---- the table ---- */

static const takt_cuda_driver table = {
#define X(field, symbol, parameters) .field = field,
    TAKT_CUDA_FUNCTIONS(X)
#undef X
};

const takt_cuda_driver *gpu_driver(const gpu_settings *settings)
{
    memset(&gpu, 0, sizeof gpu);
    gpu.set = *settings;
    gpu.set.driver = gpu.set.driver == 0 ? 13000 : gpu.set.driver;
    gpu.set.devices = gpu.set.devices == 0 ? 1 : gpu.set.devices;
    gpu.set.capability = gpu.set.capability == 0 ? 90 : gpu.set.capability;
    gpu.set.memory = gpu.set.memory == 0 ? (size_t)4 << 30 : gpu.set.memory;
    return &table;
}

gpu_counts gpu_count(void)
{
    return gpu.count;
}

void gpu_fail(uint64_t in_calls, int result, bool is_for_ever)
{
    gpu.set.fail_call = in_calls == 0 ? 0 : gpu.count.calls + in_calls;
    gpu.set.fail_result = result;
    gpu.set.fail_ever = is_for_ever;
}

static takt_status open(takt_ctx *ctx, const char *which, int threads, void **state)
{
    takt_cuda *c = NULL;
    (void)threads;
    const takt_status status = takt_cuda_open(ctx, &table, which, &c);
    *state = c;
    return status;
}

const takt_backend *gpu_backend(void)
{
    static takt_backend backend;
    backend = takt_backend_cuda;
    backend.name = "gpu";
    backend.available = NULL;
    backend.version = NULL;
    backend.open = open;
    return &backend;
}
