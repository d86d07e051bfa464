/* models.c - whole models on a device: bits against the cpu's, and times.
 *
 * Skipped where there is no device. `device`: the kernels of the plan as one graph, launch to flag,
 * inputs and outputs on the device, as other engines measure it; `run`: takt_session_run with
 * copies from and to the host; `cpu`: the same model there.
 *
 *     gpu_models [--nodes] [NAME]...  those rows alone; with a line for each kernel, which is run
 *                                     twenty times in a row: what a graph takes longer is between
 * them
 */
#define _GNU_SOURCE
#include <takt/takt.h>

#include "api/session/session.h"
#include "backend/cuda/part.h"
#include "gpu/bench.h"
#include "kernel/cuda/images.h"

typedef struct row {
    const char *name, *path, *sizes, *text;
} row;

#define PRODUCT(m, n, k)                                                                           \
    "model p(a: f32[" #m ", " #k "], b: f32[" #k ", " #n "]) -> (y: f32[" #m ", " #n               \
    "]) {\n  return y = a @ b\n}\n"

/* A hundred turns, as many inputs as units. */
#define RECURRENT(batch, units, cell)                                                              \
    "model r(x: f32[" #batch ", 100, " #units "]) -> (y: f32[" #batch ", 100, " #units             \
    "]) seed=1 {\n  return y = x |> " cell "(" #units ")\n}\n"

#define ATTENTION                                                                                  \
    "model a(q: f32[4, 4096, 2048], k: f32[4, 4096, 2048], v: f32[4, 4096, 2048]) -> (y: f32[4, "  \
    "4096, 2048]) {\n  return y = op.attention(q, k, v, heads=16)\n}\n"

/* Long, with tails: the last panel of a head has four queries, and there are more than blocks. */
#define TAILS                                                                                      \
    "model t(q: f32[2, 132, 1152], k: f32[2, 1152, 384], v: f32[2, 1152, 1824]) -> (y: "           \
    "f32[2, 132, 5472]) {\n  return y = op.attention(q, k, v, heads=72, kv_heads=24)\n}\n"

static const row rows[] = {
    {"mlp_b1", "examples/mlp.takt", "batch=1", NULL},
    {"mlp_b32", "examples/mlp.takt", "batch=32", NULL},
    {"gemm1024", NULL, NULL, PRODUCT(1024, 1024, 1024)},
    {"resnet18_block", "bench/models/resnet18_block.takt", "batch=1", NULL},
    {"encoder", "bench/models/encoder.takt", "batch=1", NULL},
    {"mobilenet_v2_b1", "bench/models/mobilenet_v2.takt", "batch=1", NULL},
    {"resnet50_b1", "bench/models/resnet50.takt", "batch=1", NULL},
    {"resnet50_b32", "bench/models/resnet50.takt", "batch=32", NULL},
    {"attention 4x16x4096x128", NULL, NULL, ATTENTION},
    {"attention_tails", NULL, NULL, TAILS},
    {"lstm_b1", NULL, NULL, RECURRENT(1, 256, "lstm")},
    {"lstm_b32", NULL, NULL, RECURRENT(32, 256, "lstm")},
    {"gru_b1", NULL, NULL, RECURRENT(1, 256, "gru")},
    {"lstm_1024_b1", NULL, NULL, RECURRENT(1, 1024, "lstm")},
};

static void fill(const takt_tensor_view *v)
{
    uint32_t x = 12345;
    size_t n = 1;
    for (int k = 0; k < v->rank; k++)
        n *= (size_t)v->dims[k];
    for (size_t i = 0; i < n && v->dtype == TAKT_F32; i++) {
        x = x * 1664525u + 1013904223u;
        ((float *)v->data)[i] = ((float)(x >> 16) - 32768.0f) / 16384.0f;
    }
}

static takt_session *open_session(takt_ctx *ctx, const takt_model *m, const char *sizes,
                                  const char *backend, int threads)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.sizes = sizes, .backend = backend, .threads = threads};
    if (takt_plan_create(m, &o, &plan) != TAKT_OK || takt_session_create(plan, NULL, &s) != TAKT_OK)
        printf("FAIL %s: %s\n", backend, takt_last_error(ctx));
    for (size_t i = 0; s != NULL && i < takt_session_input_count(s); i++)
        fill(takt_session_input(s, i));
    takt_plan_destroy(plan);
    return s;
}

static double run_us(takt_session *s)
{
    enum { LONG_US = 100000 }; /* what takes longer is not repeated */
    double us[ROUNDS];
    for (int i = 0; i < ROUNDS + 2; i++) {
        const double from = now_us();
        if (takt_session_run(s) != TAKT_OK) {
            printf("FAIL %s\n", takt_session_error(s)->message);
            wrong++;
            return 0;
        }
        us[i % ROUNDS] = now_us() - from;
        if (i > 0 && us[i % ROUNDS] > LONG_US)
            return us[i % ROUNDS];
    }
    return median(us);
}

static long differing_outputs(takt_session *a, takt_session *b)
{
    long differ = 0;
    for (size_t i = 0; i < takt_session_output_count(a); i++) {
        const takt_tensor_view *x = takt_session_output(a, i), *y = takt_session_output(b, i);
        size_t n = (size_t)takt_dtype_bits(x->dtype) / 8;
        for (int k = 0; k < x->rank; k++)
            n *= (size_t)x->dims[k];
        differ += memcmp(x->data, y->data, n) != 0;
    }
    return differ;
}

/* Kernels of the plan, without copies; 0 if some steps are the host's. */
static double kernels_us(const takt_session *s, size_t *nodes, size_t *host)
{
    enum { MOST = 4096 };
    static takt_cuda_launch *all[MOST];
    const takt_plan *plan = s->plan;
    takt_cuda_part *p = s->parts[1];
    *nodes = *host = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        if (p == NULL || (!p->steps[i].is_mine && plan->steps[i].transfer.way == TAKT_COPY_NONE))
            ++*host;
        for (size_t k = 0; p != NULL && k < p->steps[i].count && *nodes < MOST; k++)
            all[(*nodes)++] = &p->steps[i].calls[k].launch;
    }
    return *nodes > 0 ? caller_us(all, *nodes) : 0;
}

/* Every kernel alone, its blocks, and the sizes of products that are split into tiles. */
static void print_nodes(const takt_session *s)
{
    takt_cuda_part *p = s->parts[1];
    double sum = 0;
    for (size_t i = 0; p != NULL && i < s->plan->step_count; i++)
        for (size_t k = 0; k < p->steps[i].count; k++) {
            takt_cuda_launch *l = &p->steps[i].calls[k].launch;
            const takt_cuda_gemm *g = l->is_heavy ? &l->args.gemm : NULL;
            const double us = device_us(&l, 1);
            sum += us;
            printf("  %-24s %8.2f us  %5u x %u x %u of %4u  %ux%ux%u\n", l->kernel + 10, us,
                   l->grid[0], l->grid[1], l->grid[2], l->threads, g != NULL ? g->m : 0,
                   g != NULL ? g->n : 0, g != NULL ? g->k : 0);
        }
    printf("  all kernels %.1f us\n", sum);
}

static void measure(takt_ctx *ctx, const row *r, bool has_nodes)
{
    takt_model *m;
    size_t nodes = 0, host = 0;
    const takt_status status =
        r->path != NULL ? takt_model_load(ctx, r->path, NULL, &m)
                        : takt_model_load_memory(ctx, r->name, r->text, strlen(r->text), NULL, &m);
    if (status != TAKT_OK) {
        printf("FAIL %s: %s\n", r->name, takt_last_error(ctx));
        wrong++;
        return;
    }
    const double from = now_us();
    takt_session *gpu = open_session(ctx, m, r->sizes, "cuda", 0);
    const double opened = now_us() - from;
    takt_session *cpu = open_session(ctx, m, r->sizes, "cpu", 0);
    if (gpu != NULL && cpu != NULL) {
        const double seen = run_us(gpu), there = run_us(cpu);
        const long differ = differing_outputs(gpu, cpu);
        const double kernels = kernels_us(gpu, &nodes, &host);
        printf(
            "%-23s device %9.1f us (%zu nodes, %zu host steps)  run %9.1f us  cpu %9.1f us  plan "
            "and session %6.0f ms  %ld differ\n",
            r->name, kernels, nodes, host, seen, there, opened / 1e3, differ);
        wrong += differ != 0;
        if (has_nodes)
            print_nodes(gpu);
    } else {
        wrong++;
    }
    takt_session_destroy(gpu);
    takt_session_destroy(cpu);
    takt_model_destroy(m);
}

int main(int argc, char **argv)
{
    takt_ctx *ctx;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    if (!open_device(ctx, takt_cuda_targets())) {
        takt_ctx_destroy(ctx);
        return 77;
    }
    const bool has_nodes = argc > 1 && strcmp(argv[1], "--nodes") == 0;
    const int first = has_nodes ? 2 : 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool wanted = argc <= first;
        for (int k = first; k < argc; k++)
            wanted |= strcmp(argv[k], rows[i].name) == 0;
        if (wanted)
            measure(ctx, &rows[i], has_nodes);
    }
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    takt_ctx_destroy(ctx);
    printf("%s\n", wrong == 0 ? "all bits equal" : "FAIL");
    return wrong != 0;
}
