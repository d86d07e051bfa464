/* bench.h - timing launches on a device, and comparing the results with the cpu's bits. */
#ifndef TAKT_TESTS_GPU_BENCH_H
#define TAKT_TESTS_GPU_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <takt/ctx.h>

#include "backend/cuda/device.h"

static takt_cuda *cuda;
static takt_cuda_driver d;
static takt_cu_event begin, end;
static long wrong;

enum { ROUNDS = 15 };

static inline void need(int result, const char *what)
{
    if (result != TAKT_CU_OK) {
        printf("FAIL %s: %s\n", what, takt_cuda_text(&d, result));
        exit(1);
    }
}

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double median(double *x)
{
    qsort(x, ROUNDS, sizeof *x, by_value);
    return x[ROUNDS / 2];
}

static inline float *device(size_t count, const float *from)
{
    takt_cu_ptr p;
    need(d.mem_get(&p, count * sizeof(float)), "memory");
    if (from != NULL)
        need(d.copy_up(p, from, count * sizeof(float), cuda->stream), "copy");
    else
        need(d.fill(p, 0x3f800000, count, cuda->stream), "fill");
    return (float *)(uintptr_t)p;
}

/* What the device has for kernels. */
static inline takt_cuda_block_room device_room(void)
{
    return (takt_cuda_block_room){(uint32_t)cuda->facts.shared_bytes,
                                  (uint32_t)cuda->facts.processors};
}

static inline uint32_t *device_zeros(size_t count)
{
    takt_cu_ptr p;
    need(d.mem_get(&p, (count + 1) * sizeof(uint32_t)), "memory");
    need(d.fill(p, 0, count + 1, cuda->stream), "fill");
    return (uint32_t *)(uintptr_t)p;
}

static inline void release(const void *p)
{
    if (p != NULL)
        need(d.mem_put((takt_cu_ptr)(uintptr_t)p), "memory");
}

static inline float *random_floats(size_t count)
{
    static uint64_t state = 1;
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; x != NULL && i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = (float)(int32_t)(state >> 32) * 0x1p-29f;
    }
    return x;
}

/* ---- graphs of launches ---- */

static struct {
    uint32_t *seen; /* pinned */
    takt_cu_ptr run;
    uint32_t runs;
} flag;

static inline takt_cu_function function_of(const takt_cuda_launch *l)
{
    takt_cu_function f;
    takt_error error;
    if (takt_cuda_function(cuda, l, &error, &f) != TAKT_OK) {
        printf("FAIL %s: %s\n", l->kernel, error.message);
        exit(1);
    }
    return f;
}

static inline void add_node(takt_cu_graph g, takt_cuda_launch *l, takt_cu_node *last, size_t *count)
{
    void *parameters[1] = {&l->args};
    takt_cu_node made;
    const takt_cu_kernel_node node = {.function = function_of(l),
                                      .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                      .block = {l->threads, 1, 1},
                                      .shared_bytes = l->shared_bytes,
                                      .parameters = parameters};
    const takt_cu_edge edge = {.from_port = TAKT_CU_PROGRAMMATIC, .type = TAKT_CU_PROGRAMMATIC};
    static bool was_together; /* the previous node */
    const takt_cu_attribute together = {.is_cooperative = 1};
    enum { WAITING = 8192 }; /* larger grids begin after the previous kernel */
    const bool is_early =
        cuda->is_early && *count > 0 && !l->is_together && !was_together && l->grid[0] <= WAITING;
    need(d.graph_kernel(&made, g, last, is_early ? 0 : *count, &node), l->kernel);
    if (is_early)
        need(d.graph_edges(g, last, &made, &edge, 1), "an edge"); /* as sessions do */
    if (l->is_together)
        need(d.node_attribute(made, TAKT_CU_COOPERATIVE, &together), "a cooperative launch");
    was_together = l->is_together;
    *last = made;
    *count = 1;
}

/* The launches `copies` times in sequence; with `signals` a node that sets the flag. */
static inline takt_cu_exec graph_of(takt_cuda_launch *const *l, size_t count, int copies,
                                    bool signals, takt_cu_graph *graph)
{
    takt_cu_exec exec;
    takt_cu_node last = NULL;
    size_t before = 0;
    if (flag.seen == NULL) {
        void *block;
        need(d.host_get(&block, 64, 0), "pinned memory");
        flag.seen = block;
        *flag.seen = 0;
        need(d.mem_get(&flag.run, 64), "memory");
        need(d.fill(flag.run, 0, 16, cuda->stream), "fill");
    }
    takt_cuda_launch done = {.kernel = "takt_cuda_done",
                             .grid = {1, 1, 1},
                             .threads = 32,
                             .arg_bytes = sizeof done.args.done};
    done.args.done =
        (takt_cuda_done_args){.run = (uint32_t *)(uintptr_t)flag.run, .seen = flag.seen};
    need(d.graph_create(graph, 0), "graph");
    for (int k = 0; k < copies; k++)
        for (size_t i = 0; i < count; i++)
            add_node(*graph, l[i], &last, &before);
    if (signals)
        add_node(*graph, &done, &last, &before);
    need(d.graph_instantiate(&exec, *graph, 0), "graph");
    need(d.graph_upload(exec, cuda->stream), "graph");
    need(d.stream_wait(cuda->stream), "graph");
    return exec;
}

static inline void run_once(takt_cuda_launch *l, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *parameters[1] = {&l[i].args};
        need(l[i].is_together
                 ? d.launch_together(function_of(&l[i]), l[i].grid[0], l[i].grid[1], l[i].grid[2],
                                     l[i].threads, 1, 1, l[i].shared_bytes, cuda->stream,
                                     parameters)
                 : d.launch(function_of(&l[i]), l[i].grid[0], l[i].grid[1], l[i].grid[2],
                            l[i].threads, 1, 1, l[i].shared_bytes, cuda->stream, parameters, NULL),
             l[i].kernel);
    }
    need(d.stream_wait(cuda->stream), "a kernel");
}

/* As seen by a caller: from the launch of a graph to its flag in pinned memory. */
static inline double caller_us(takt_cuda_launch *const *l, size_t count)
{
    takt_cu_graph g;
    takt_cu_exec e = graph_of(l, count, 1, true, &g);
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS + 5; i++) {
        flag.runs++;
        const double from = now_us();
        need(d.graph_launch(e, cuda->stream), "graph");
        while (*(volatile uint32_t *)flag.seen != flag.runs && now_us() - from < 2e6)
            continue;
        us[i % ROUNDS] = now_us() - from;
    }
    need(d.stream_wait(cuda->stream), "a kernel");
    need(d.exec_destroy(e), "graph");
    need(d.graph_destroy(g), "graph");
    return median(us);
}

/* On the device: a share of a graph that repeats the launches. */
static inline double device_us(takt_cuda_launch *const *l, size_t count)
{
    double us[ROUNDS];
    int copies = 1;
    for (int pass = 0; pass < 2; pass++) {
        takt_cu_graph g;
        takt_cu_exec e = graph_of(l, count, copies, false, &g);
        for (int i = 0; i < (pass == 0 ? 2 : ROUNDS); i++) {
            float ms;
            need(d.event_record(begin, cuda->stream), "event");
            need(d.graph_launch(e, cuda->stream), "graph");
            need(d.event_record(end, cuda->stream), "event");
            need(d.event_wait(end), "a kernel");
            need(d.event_elapsed(&ms, begin, end), "event");
            us[i] = (double)ms * 1e3 / copies;
        }
        need(d.exec_destroy(e), "graph");
        need(d.graph_destroy(g), "graph");
        if (pass == 0)
            copies = us[1] > 500 ? 2 : us[1] > 60 ? 5 : 20;
    }
    return median(us);
}

static inline long differing(const float *there, const float *want, size_t count)
{
    float *got = malloc(count * sizeof *got);
    long differ = 0;
    if (got == NULL)
        return -1;
    need(d.copy_down(got, (takt_cu_ptr)(uintptr_t)there, count * sizeof *got, cuda->stream),
         "copy");
    need(d.stream_wait(cuda->stream), "copy");
    for (size_t i = 0; i < count; i++)
        differ += memcmp(&got[i], &want[i], sizeof *got) != 0 && !(isnan(got[i]) && isnan(want[i]));
    free(got);
    return differ;
}

/* Times of the launches, as a row of the table; those of the caller in the last column. */
static inline void line(const char *what, takt_cuda_launch *const *l, size_t count, double flops,
                        double bytes, long differ)
{
    const double us = device_us(l, count), seen = caller_us(l, count);
    char bits[64] = "";
    if (differ >= 0)
        snprintf(bits, sizeof bits, "  %ld differ", differ);
    printf("%-28s %-22s %9.2f us %7.2f TFLOP/s %7.1f GB/s  caller %9.2f us%s\n", what,
           l[0]->kernel + 10, us, flops / us / 1e6, bytes / us / 1e3, seen, bits);
    wrong += differ > 0;
}

/* Opens the first device; false, with a sentence, where there is none. */
static inline bool open_device(takt_ctx *ctx, const char *targets)
{
    takt_cuda_driver driver;
    const char *why = targets == NULL ? "built without nvcc" : takt_cuda_load(&driver);
    if (why == NULL && takt_cuda_open(ctx, &driver, NULL, &cuda) != TAKT_OK)
        why = takt_last_error(ctx);
    if (why != NULL) {
        printf("skipped: %s\n", why);
        return false;
    }
    d = cuda->driver;
    takt_cuda_enter(cuda);
    need(d.event_create(&begin, 0), "event");
    need(d.event_create(&end, 0), "event");
    printf("%s, %d multiprocessors, driver %d\n", cuda->facts.name, cuda->facts.processors,
           cuda->facts.driver);
    return true;
}

#endif
