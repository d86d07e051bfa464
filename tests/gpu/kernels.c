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
                        .a_row = k,
                        .a_col = 1,
                        .b_row = n,
                        .b_col = 1,
                        .c_row = n,
                        .inner = 1};
    const takt_cuda_block_room has = device_room();
    takt_cuda_launch l[2];
    takt_cuda_launch *all[] = {&l[1], &l[1]};
    takt_cuda_gemm given = g, lined;
    g.is_aligned = 1;
    const bool is_turned = takt_cuda_gemm_lines(&g, &has, &lined);
    if (is_turned) {
        takt_cuda_transpose t = {.dst = device((size_t)m * k, NULL),
                                 .src = g.a,
                                 .src_row = k,
                                 .rows = m,
                                 .cols = k,
                                 .inner = 1};
        takt_cuda_launch_transpose(&t, 1, &l[0]);
        g = lined;
        g.a = t.dst;
        all[0] = &l[0];
    }
    const takt_cuda_gemm_plan plan = takt_cuda_gemm_plan_of(&g, 1, &has, TAKT_CUDA_GEMM_ANY);
    float *scratch = device(plan.scratch_bytes / 4 + 1, NULL);
    uint32_t *tickets = device_zeros(plan.tickets);
    takt_cuda_launch_gemm(&g, 1, &plan, scratch, tickets, &l[1]);
    run_once(all[0], 1);
    if (is_turned)
        run_once(&l[1], 1);
    char what[64];
    snprintf(what, sizeof what, "product %ux%ux%u", m, n, k);
    if (compares)
        cpu_product(m, n, k, a, b, c);
    line(what, all, is_turned ? 2 : 1, 2.0 * m * n * k,
         4.0 * ((double)m * k + (double)k * n + (double)m * n),
         compares ? differing(g.c, c, (size_t)m * n) : -1);
    if (is_turned)
        release(g.a);
    release(given.a), release(g.b), release(g.c), release(scratch), release(tickets);
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
    const takt_cuda_block_room has = device_room();
    takt_cuda_launch_rows(&r, &has, &l);
    run_once(&l, 1);
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
    line(what, (takt_cuda_launch *[]){&l}, 1, 0, 8.0 * (double)count * (double)n, differ);
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
    run_once(&l, 1);
    long differ = -1;
    if (compares) {
        y = malloc(n * sizeof *y);
        takt_map_find(kernel("map_f32"), op)(y, (const void *[]){x, x},
                                             (const unsigned char[]){0, 0}, n, NULL);
        differ = differing(m.out[0], y, n);
    }
    char what[64];
    snprintf(what, sizeof what, "%s %zu", takt_map_name(op), n);
    line(what, (takt_cuda_launch *[]){&l}, 1, 0, 8.0 * (double)n, differ);
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
    const takt_cuda_block_room has = device_room();
    float *scratch = device(takt_cuda_reduce_scratch(&r, &has) / 4 + 1, NULL);
    takt_cuda_launch l[TAKT_CUDA_LAUNCHES];
    uint32_t *tickets = device_zeros(takt_cuda_reduce_tickets(&r, &has));
    const size_t count = takt_cuda_launch_reduce(&r, &has, scratch, tickets, l);
    run_once(l, count);
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
    line(what, (takt_cuda_launch *[]){&l[0], &l[1]}, count, 0, 4.0 * (double)n, differ);
    release(r.dst), release(r.src), release(scratch), release(tickets);
    free(x);
}

/* ---- launch and wait, as a caller sees it ---- */

/* Graphs of nodes that copy a float. */
static void latencies(void)
{
    static const size_t nodes[] = {1, 2, 10, 50};
    takt_cuda_map m = {.count = 1, .dims = 1, .code_count = 1, .dim = {1}};
    m.code[0] = (takt_cuda_instruction){
        .is_output = 1, .from = {TAKT_CUDA_MAP_CODE, TAKT_CUDA_MAP_CODE, TAKT_CUDA_MAP_CODE}};
    m.in[0] = (takt_cuda_operand){.data = device(1, NULL)};
    m.out[0] = device(1, NULL);
    takt_cuda_launch l, *all[50];
    takt_cuda_launch_map(&m, &l);
    for (size_t i = 0; i < 50; i++)
        all[i] = &l;
    for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
        printf("graph of %2zu nodes and a flag, launch to flag %8.2f us\n", nodes[k],
               caller_us(all, nodes[k]));
}

int main(void)
{
    takt_ctx *ctx;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    if (!open_device(ctx, takt_cuda_targets())) {
        takt_ctx_destroy(ctx);
        return 77;
    }
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
    sum((1 << 24) + 5, true);
    sum(1 << 28, false);
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    takt_ctx_destroy(ctx);
    printf("%s\n", wrong == 0 ? "all bits equal" : "FAIL bits differ");
    return wrong != 0;
}
