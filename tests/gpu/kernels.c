/* kernels.c - device kernels on a real device: bits against the cpu's, and times.
 *
 * Skipped where there is no device. Every line has the median time on the device and, where the
 * cpu computed the same, how many of the results differ in bits, which must be none.
 */
#define _GNU_SOURCE
#include <takt/ctx.h>

#include "gpu/bench.h"
#include "kernel/cuda/images.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/map/map.h"
#include "kernel/pack/pack.h"
#include "kernel/reduce/reduce.h"
#include "kernel/rows/rows.h"

static const takt_kernel *kernel(const char *family)
{
    return takt_kernel_find(family, takt_isa_detect(), NULL, 0, NULL);
}

/* ---- products ---- */

static void cpu_product(uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b,
                        float *c)
{
    const takt_kernel *kern = kernel("gemm_f32");
    const takt_gemm_f32_info *info = kern->info;
    const size_t columns = takt_panels_columns(info->panels, n);
    float *packed = calloc(columns * k + 16, sizeof *packed);
    for (size_t p = 0; packed != NULL && p < k; p++)
        for (size_t j = 0; j < n; j++)
            packed[takt_packed_at(info->panels, k, n, p, j)] = b[p * n + j];
    takt_gemm_f32 g = {.m = m,
                       .n = n,
                       .k = k,
                       .a = a,
                       .a_row = k,
                       .a_col = 1,
                       .b = packed,
                       .b_n = n,
                       .c = c,
                       .ldc = n};
    g.scratch = aligned_alloc(64, (info->scratch_bytes(&g) + 127) / 64 * 64);
    takt_kernel_as_gemm_f32(kern)(&g);
    free(g.scratch);
    free(packed);
}

static void product(uint32_t m, uint32_t n, uint32_t k, bool compares)
{
    float *a = random_floats((size_t)m * k), *b = random_floats((size_t)k * n);
    float *c = malloc((size_t)m * n * sizeof *c);
    takt_cuda_gemm g = {.a = device((size_t)m * k, a),
                        .b = device((size_t)k * n, b),
                        .c = device((size_t)m * n, NULL),
                        .m = m,
                        .n = n,
                        .k = k,
                        .chunk = 256,
                        .a_row = k,
                        .a_col = 1,
                        .b_row = n,
                        .b_col = 1,
                        .c_row = n,
                        .inner = 1};
    const uint32_t processors = (uint32_t)cuda->facts.processors;
    const uint64_t room = takt_cuda_gemm_scratch(&g, 1, processors);
    float *scratch = room > 0 ? device(room / 4, NULL) : NULL;
    takt_cuda_launch l[TAKT_CUDA_LAUNCHES];
    const size_t count = takt_cuda_launch_gemm(&g, 1, processors, scratch, l);
    const double us = device_us(l, count);
    char what[64];
    snprintf(what, sizeof what, "product %ux%ux%u", m, n, k);
    if (compares)
        cpu_product(m, n, k, a, b, c);
    line(what, l, us, 2.0 * m * n * k, 4.0 * ((double)m * k + (double)k * n + (double)m * n),
         compares ? differing(g.c, c, (size_t)m * n) : -1);
    release(g.a), release(g.b), release(g.c), release(scratch);
    free(a), free(b), free(c);
}

/* ---- rows, maps, reductions ---- */

static void rows(takt_rows_op op, const char *name, size_t count, size_t n, bool compares)
{
    float *x = compares ? random_floats(count * n) : NULL, *y = NULL;
    takt_cuda_rows r = {.dst = device(count * n, NULL),
                        .src = device(count * n, x),
                        .rows = count,
                        .n = n,
                        .dst_stride = n,
                        .src_stride = n,
                        .epsilon = 1e-5f,
                        .op = op};
    takt_cuda_launch l;
    takt_cuda_launch_rows(&r, &l);
    const double us = device_us(&l, 1);
    long differ = -1;
    if (compares) {
        y = malloc(count * n * sizeof *y);
        const takt_rows_step s = {.op = op,
                                  .dst = y,
                                  .src = x,
                                  .rows = count,
                                  .n = n,
                                  .dst_stride = n,
                                  .src_stride = n,
                                  .epsilon = (double)1e-5f};
        takt_kernel_as_rows_f32(kernel("rows_f32"))(&s);
        differ = differing(r.dst, y, count * n);
    }
    char what[64];
    snprintf(what, sizeof what, "%s %zux%zu", name, count, n);
    line(what, &l, us, 0, 8.0 * (double)count * (double)n, differ);
    release(r.dst), release(r.src);
    free(x), free(y);
}

static void map(takt_map_op op, size_t n, bool compares)
{
    float *x = compares ? random_floats(n) : NULL, *y = NULL;
    takt_cuda_map m = {.count = n, .dims = 1, .code_count = 1, .dim = {(uint32_t)n}};
    m.code[0] = (takt_cuda_instruction){
        .op = (uint8_t)op,
        .is_output = 1,
        .from = {TAKT_CUDA_MAP_CODE, TAKT_CUDA_MAP_CODE, TAKT_CUDA_MAP_CODE}};
    m.in[0] = (takt_cuda_operand){.data = device(n, x)};
    m.out[0] = device(n, NULL);
    takt_cuda_launch l;
    takt_cuda_launch_map(&m, &l);
    const double us = device_us(&l, 1);
    long differ = -1;
    if (compares) {
        y = malloc(n * sizeof *y);
        takt_map_find(kernel("map_f32"), op)(y, (const void *[]){x, x},
                                             (const unsigned char[]){0, 0}, n, NULL);
        differ = differing(m.out[0], y, n);
    }
    char what[64];
    snprintf(what, sizeof what, "%s %zu", takt_map_name(op), n);
    line(what, &l, us, 0, 8.0 * (double)n, differ);
    release(m.in[0].data), release(m.out[0]);
    free(x), free(y);
}

static void sum(size_t n, bool compares)
{
    float *x = compares ? random_floats(n) : NULL, y = 0;
    const takt_cuda_reduce r = {.dst = device(1, NULL),
                                .src = device(n, x),
                                .count = 1,
                                .across = n,
                                .n = n,
                                .run = n,
                                .step = 1,
                                .inner = 1,
                                .outer_stride = n,
                                .op = TAKT_REDUCE_SUM};
    const uint32_t processors = (uint32_t)cuda->facts.processors;
    float *scratch = device(takt_cuda_reduce_scratch(&r, processors) / 4 + 1, NULL);
    takt_cuda_launch l[TAKT_CUDA_LAUNCHES];
    const double us = device_us(l, takt_cuda_launch_reduce(&r, processors, scratch, l));
    long differ = -1;
    if (compares) {
        const takt_reduce s = {.op = TAKT_REDUCE_SUM,
                               .dst = &y,
                               .src = x,
                               .count = 1,
                               .across = n,
                               .n = n,
                               .run = n,
                               .step = 1};
        takt_kernel_as_reduce_f32(kernel("reduce_f32"))(&s);
        differ = differing(r.dst, &y, 1);
    }
    char what[64];
    snprintf(what, sizeof what, "sum %zu", n);
    line(what, l, us, 0, 4.0 * (double)n, differ);
    release(r.dst), release(r.src), release(scratch);
    free(x);
}

/* ---- launch and wait, as a caller sees it ---- */

static void latencies(void)
{
    uint32_t *seen;
    takt_cu_ptr words;
    void *block;
    need(d.host_get(&block, 4096, 0), "pinned memory");
    seen = block;
    *seen = 0;
    need(d.mem_get(&words, 64), "memory");
    need(d.fill(words, 0, 16, cuda->stream), "fill");
    need(d.stream_wait(cuda->stream), "fill");
    takt_cuda_launch l = {.kernel = "takt_cuda_done",
                          .grid = {1, 1, 1},
                          .threads = 32,
                          .arg_bytes = sizeof l.args.done};
    l.args.done = (takt_cuda_done_args){.run = (uint32_t *)(uintptr_t)words, .seen = seen};
    takt_cu_function f;
    takt_error error;
    if (takt_cuda_function(cuda, &l, &error, &f) != TAKT_OK)
        return;
    static const int nodes[] = {1, 2, 10, 50};
    uint32_t run = 0;
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
        takt_cu_graph g;
        takt_cu_exec e;
        takt_cu_node last = NULL;
        void *parameters[1] = {&l.args};
        const takt_cu_kernel_node node = {
            .function = f, .grid = {1, 1, 1}, .block = {32, 1, 1}, .parameters = parameters};
        need(d.graph_create(&g, 0), "graph");
        for (int i = 0; i < nodes[k]; i++) {
            takt_cu_node made;
            need(d.graph_kernel(&made, g, &last, i > 0, &node), "graph");
            last = made;
        }
        need(d.graph_instantiate(&e, g, 0), "graph");
        double us[ROUNDS];
        for (int i = 0; i < ROUNDS + 20; i++) {
            run += (uint32_t)nodes[k];
            const double from = now_us();
            need(d.graph_launch(e, cuda->stream), "graph");
            while (*(volatile uint32_t *)seen != run)
                continue;
            us[i % ROUNDS] = now_us() - from;
        }
        printf("graph of %2d nodes, launch to flag %8.2f us\n", nodes[k], median(us));
        need(d.exec_destroy(e), "graph");
        need(d.graph_destroy(g), "graph");
    }
    need(d.stream_wait(cuda->stream), "graph");
}

int main(void)
{
    takt_ctx *ctx;
    takt_cuda_driver driver;
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *why = takt_cuda_targets() == NULL ? "built without nvcc" : takt_cuda_load(&driver);
    if (why != NULL) {
        printf("skipped: %s\n", why);
        return 77;
    }
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    if (takt_cuda_open(ctx, &driver, NULL, &cuda) != TAKT_OK) {
        printf("skipped: %s\n", takt_last_error(ctx));
        takt_ctx_destroy(ctx);
        return 77;
    }
    d = cuda->driver;
    takt_cuda_enter(cuda);
    need(d.event_create(&begin, 0), "event");
    need(d.event_create(&end, 0), "event");
    printf("%s, %d multiprocessors, driver %d\n", cuda->facts.name, cuda->facts.processors,
           cuda->facts.driver);
    latencies();
    product(1, 256, 784, true);
    product(32, 256, 784, true);
    product(1000, 1000, 1000, true);
    product(1024, 1024, 1024, true);
    product(1, 4096, 4096, true);
    product(8, 4096, 4096, true);
    product(4096, 4096, 4096, false);
    rows(TAKT_ROWS_SOFTMAX, "softmax", 32, 10000, true);
    rows(TAKT_ROWS_LAYER_NORM, "layer_norm", 32, 768, true);
    rows(TAKT_ROWS_SOFTMAX, "softmax", 65536, 4096, false);
    rows(TAKT_ROWS_LAYER_NORM, "layer_norm", 262144, 1024, false);
    map(TAKT_MAP_GELU, 1 << 20, true);
    map(TAKT_MAP_SIN, 1 << 20, true);
    map(TAKT_MAP_GELU, 1 << 28, false);
    map(TAKT_MAP_RELU, 1 << 28, false);
    sum(1 << 20, true);
    sum(1 << 28, false);
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    takt_ctx_destroy(ctx);
    printf("%s\n", wrong == 0 ? "all bits equal" : "FAIL bits differ");
    return wrong != 0;
}
