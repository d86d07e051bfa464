/* rates.c - measures a device: multiply-adds, memory, copies from and to the host, launches. */
#include <string.h>

#include "backend/cuda/session.h"
#include "base/error.h"

enum { TRIES = 5, THREADS = TAKT_CUDA_MOVE_THREADS, CHAINS = 16, NODES = 20, HEAD = 64 };
enum { COPIED = 32 << 20, CACHED = TAKT_DEVICE_NEAR };

typedef struct bench {
    takt_cuda *c;
    const takt_cuda_driver *d;
    takt_cu_event start, stop;
    takt_cu_ptr memory; /* of `bytes` */
    size_t bytes;
    void *pinned;
    int result; /* the first failure */
} bench;

static bool good(bench *b, int result)
{
    b->result = b->result == TAKT_CU_OK ? result : b->result;
    return b->result == TAKT_CU_OK;
}

/* ---- kernels and copies, by events ---- */

typedef int work_fn(bench *b, const void *what);

/* Seconds of the fastest of some tries; 0: it failed. */
static double best_of(bench *b, work_fn *work, const void *what)
{
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        float ms = 0;
        if (!good(b, b->d->event_record(b->start, b->c->stream)) || !good(b, work(b, what)) ||
            !good(b, b->d->event_record(b->stop, b->c->stream)) ||
            !good(b, b->d->event_wait(b->stop)) ||
            !good(b, b->d->event_elapsed(&ms, b->start, b->stop)))
            return 0;
        const double s = (double)ms * 1e-3;
        best = i == 0 || s < best ? s : best;
    }
    return best;
}

static int launch(bench *b, const void *what)
{
    takt_cuda_launch l = *(const takt_cuda_launch *)what;
    takt_error error;
    takt_cu_function f = NULL;
    void *parameters[1] = {&l.args};
    if (takt_cuda_function(b->c, &l, &error, &f) != TAKT_OK)
        return TAKT_CU_NO_BINARY;
    return b->d->launch(f, l.grid[0], 1, 1, l.threads, 1, 1, 0, b->c->stream, parameters, NULL);
}

/* Into `l`, which is large: one of them is enough for a frame. */
static void launch_of(const bench *b, const char *kernel, uint32_t loops, size_t bytes,
                      takt_cuda_launch *l)
{
    const uint32_t blocks = 8 * (uint32_t)b->c->facts.processors;
    memset(l, 0, sizeof *l);
    l->kernel = kernel;
    l->grid[0] = blocks;
    l->grid[1] = l->grid[2] = 1;
    l->threads = THREADS;
    l->arg_bytes = sizeof l->args.peak;
    l->args.peak = (takt_cuda_peak_args){.dst = (float *)(uintptr_t)b->memory,
                                         .src = (const float *)(uintptr_t)b->memory,
                                         .count = bytes / 16,
                                         .loops = loops,
                                         .blocks = blocks,
                                         .factor = 0.5F};
}

/* As many loops as take a few milliseconds. */
static double fma_rate(bench *b)
{
    enum { MOST = 1 << 16 };
    double s = 0;
    uint32_t loops = 16;
    for (; loops < MOST && s < 2e-3 && b->result == TAKT_CU_OK; loops *= 4) {
        takt_cuda_launch l;
        launch_of(b, "takt_cuda_peak_fma", loops, 0, &l);
        s = best_of(b, launch, &l);
    }
    const double threads = 8.0 * b->c->facts.processors * THREADS;
    return s > 0 ? 2.0 * CHAINS * (loops / 4.0) * threads / s : 0;
}

static double read_rate(bench *b, size_t bytes, uint32_t loops)
{
    takt_cuda_launch l;
    launch_of(b, "takt_cuda_peak_read", loops, bytes, &l);
    const double s = best_of(b, launch, &l);
    return s > 0 ? (double)bytes * loops / s : 0;
}

static int copy_within(bench *b, const void *what)
{
    (void)what;
    return b->d->copy_within(b->memory + b->bytes / 2, b->memory, b->bytes / 2, b->c->stream);
}

static int copy_up(bench *b, const void *what)
{
    return b->d->copy_up(b->memory, b->pinned, *(const size_t *)what, b->c->stream);
}

static int copy_down(bench *b, const void *what)
{
    return b->d->copy_down(b->pinned, b->memory, *(const size_t *)what, b->c->stream);
}

/* ---- launches, by the host's clock ---- */

/* Each node has a number of its own, which it may read early; the host sees the last one's. */
static int add_nodes(bench *b, takt_cu_graph graph, int count)
{
    takt_cuda_launch l = {.kernel = "takt_cuda_done",
                          .grid = {1, 1, 1},
                          .threads = 32,
                          .arg_bytes = sizeof l.args.done};
    takt_error error;
    takt_cu_function f = NULL;
    takt_cu_node last = NULL;
    if (takt_cuda_function(b->c, &l, &error, &f) != TAKT_OK)
        return TAKT_CU_NO_BINARY;
    void *parameters[1] = {&l.args};
    const takt_cu_kernel_node node = {
        .function = f, .grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = parameters};
    const takt_cu_edge edge = {.from_port = TAKT_CU_PROGRAMMATIC, .type = TAKT_CU_PROGRAMMATIC};
    int result = TAKT_CU_OK;
    for (int i = 0; i < count && result == TAKT_CU_OK; i++) {
        takt_cu_node made = NULL;
        const bool is_early = i > 0 && b->c->is_early, is_last = i + 1 == count;
        l.args.done =
            (takt_cuda_done_args){.run = (uint32_t *)(uintptr_t)b->memory + (is_last ? 0 : i + 1),
                                  .seen = (uint32_t *)b->pinned + !is_last};
        result = b->d->graph_kernel(&made, graph, &last, i > 0 && !is_early ? 1 : 0, &node);
        if (result == TAKT_CU_OK && is_early)
            result = b->d->graph_edges(graph, &last, &made, &edge, 1);
        last = made;
    }
    return result;
}

/* From the launch of a graph until the host sees the write of its last node. */
static double time_graph(bench *b, takt_cu_exec exec, uint32_t *runs)
{
    enum { ROUNDS = 50 };
    const takt_ctx *ctx = b->c->ctx;
    double best = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t from = ctx->now_ns(ctx->clock_user);
        if (!good(b, b->d->graph_launch(exec, b->c->stream)))
            return 0;
        *runs += 1;
        const _Atomic uint32_t *seen = b->pinned;
        while (atomic_load_explicit(seen, memory_order_acquire) != *runs &&
               ctx->now_ns(ctx->clock_user) - from < 10 * 1000 * 1000)
            continue;
        const double s = (double)(ctx->now_ns(ctx->clock_user) - from) * 1e-9;
        best = i == 0 || s < best ? s : best;
        if (!good(b, b->d->stream_wait(b->c->stream)))
            return 0;
    }
    return best;
}

static double graph_seconds(bench *b, int nodes, uint32_t *runs)
{
    takt_cu_graph graph = NULL;
    takt_cu_exec exec = NULL;
    double s = 0;
    if (good(b, b->d->graph_create(&graph, 0)) && good(b, add_nodes(b, graph, nodes)) &&
        good(b, b->d->graph_instantiate(&exec, graph, 0)) &&
        good(b, b->d->graph_upload(exec, b->c->stream)))
        s = time_graph(b, exec, runs);
    if (exec != NULL)
        (void)b->d->exec_destroy(exec);
    if (graph != NULL)
        (void)b->d->graph_destroy(graph);
    return s;
}

/* ---- all ---- */

static bool begin(bench *b)
{
    size_t left = 0, all = 0;
    if (!good(b, b->d->mem_info(&left, &all)))
        return false;
    b->bytes = left / 64 < (size_t)1 << 30 ? left / 64 / 4096 * 4096 : (size_t)1 << 30;
    return b->bytes >= COPIED && good(b, b->d->mem_get(&b->memory, b->bytes)) &&
           good(b, b->d->host_get(&b->pinned, COPIED, 0)) &&
           good(b, b->d->event_create(&b->start, 0)) && good(b, b->d->event_create(&b->stop, 0)) &&
           good(b, b->d->fill(b->memory, 0, b->bytes / 4, b->c->stream));
}

static void end(bench *b)
{
    (void)b->d->stream_wait(b->c->stream);
    if (b->start != NULL)
        (void)b->d->event_destroy(b->start);
    if (b->stop != NULL)
        (void)b->d->event_destroy(b->stop);
    if (b->pinned != NULL)
        (void)b->d->host_put(b->pinned);
    if (b->memory != 0)
        (void)b->d->mem_put(b->memory);
}

static size_t add(takt_device_rate *to, size_t count, takt_device_rate one)
{
    to[count] = one;
    return count + 1;
}

static size_t measure(bench *b, takt_device_rate *to)
{
    const size_t some = COPIED;
    uint32_t runs = 0;
    size_t n = 0;
    const double within = best_of(b, copy_within, NULL);
    const double up = best_of(b, copy_up, &some), down = best_of(b, copy_down, &some);
    const double fma = fma_rate(b);
    n = add(to, n, (takt_device_rate){"f32 multiply-add", "f32_flops", "FLOP/s", fma});
    n = add(
        to, n,
        (takt_device_rate){"memory read", "read_bytes_per_s", "B/s", read_rate(b, b->bytes, 1)});
    n = add(to, n,
            (takt_device_rate){"memory copy (both ways)", "copy_bytes_per_s", "B/s",
                               within > 0 ? (double)b->bytes / within : 0});
    n = add(to, n, (takt_device_rate){"L2 read", "l2_bytes_per_s", "B/s", read_rate(b, CACHED, 8)});
    n = add(to, n,
            (takt_device_rate){"copy from the host", "up_bytes_per_s", "B/s",
                               up > 0 ? (double)some / up : 0});
    n = add(to, n,
            (takt_device_rate){"copy to the host", "down_bytes_per_s", "B/s",
                               down > 0 ? (double)some / down : 0});
    if (b->result == TAKT_CU_OK)
        memset(b->pinned, 0, HEAD);
    (void)good(b, b->d->fill(b->memory, 0, HEAD / 4, b->c->stream));
    const double one = graph_seconds(b, 1, &runs), more = graph_seconds(b, 1 + NODES, &runs);
    n = add(to, n, (takt_device_rate){"launch and wait", "launch_s", "s", one});
    return add(
        to, n,
        (takt_device_rate){"one more node", "node_s", "s", more > one ? (more - one) / NODES : 0});
}

size_t takt_cuda_rates(void *state, takt_device_rate *rates)
{
    takt_cuda *c = state;
    bench b = {.c = c, .d = &c->driver};
    size_t count = 0;
    if (atomic_load(&c->lost) != 0)
        return 0;
    takt_cuda_enter(c);
    if (begin(&b))
        count = measure(&b, rates);
    end(&b);
    takt_cuda_leave(c);
    return b.result == TAKT_CU_OK ? count : 0;
}
