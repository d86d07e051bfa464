/* text_kernels.c - products with weights in ggml's block formats: Takt's kernel against ggml's own.
 *
 * One matrix of 2048 x 512, one thread. ggml has its weights where llama.cpp puts them, repacked if
 * it knows how; Takt has them in panels, or as in a file. Weights are random numbers, or any bytes
 * in formats that take minutes to be made. Activations are f32 when the clock starts, so both round
 * them. The two take turns; what counts is the least CPU time, which other programs hardly change.
 * bench/peers/text.py --kernels builds and runs this.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

#include "kernel/ggml_i8/ggml_i8.h"

enum { K = 2048, N = 512, ROUNDS = 30 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void *get(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 8192);
    if (p == NULL)
        exit(1);
    return p;
}

/* ---- ggml ---- */

typedef struct theirs {
    ggml_backend_t backend;
    struct ggml_context *weights, *rest;
    struct ggml_cgraph *graph;
} theirs;

/* Puts the weights into a repacking buffer, if one takes them. */
static bool repacks(theirs *o, struct ggml_tensor **a, struct ggml_tensor *product)
{
    ggml_backend_dev_t device = ggml_backend_get_device(o->backend);
    ggml_backend_dev_get_extra_bufts_t extra =
        (ggml_backend_dev_get_extra_bufts_t)ggml_backend_reg_get_proc_address(
            ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts");
    for (ggml_backend_buffer_type_t *type = extra ? extra(device) : NULL; type && *type; type++) {
        ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(o->weights, *type);
        if (buffer != NULL && (*a)->extra != NULL && ggml_backend_dev_supports_op(device, product))
            return true;
        ggml_backend_buffer_free(buffer);
        const enum ggml_type kind = (*a)->type;
        ggml_reset(o->weights);
        *a = product->src[0] = ggml_new_tensor_2d(o->weights, kind, K, N);
    }
    return false;
}

static theirs prepare(enum ggml_type type, int m, const void *blocks, const float *x)
{
    const struct ggml_init_params room = {ggml_tensor_overhead() * 8 + ggml_graph_overhead(), NULL,
                                          true};
    theirs o = {ggml_backend_cpu_init(), ggml_init(room), ggml_init(room), NULL};
    ggml_backend_cpu_set_n_threads(o.backend, 1);
    struct ggml_tensor *a = ggml_new_tensor_2d(o.weights, type, K, N);
    struct ggml_tensor *b = ggml_new_tensor_2d(o.rest, GGML_TYPE_F32, K, m);
    struct ggml_tensor *product = ggml_mul_mat(o.rest, a, b);
    o.graph = ggml_new_graph(o.rest);
    ggml_build_forward_expand(o.graph, product);
    if (!repacks(&o, &a, product))
        ggml_backend_alloc_ctx_tensors(o.weights, o.backend);
    ggml_backend_alloc_ctx_tensors(o.rest, o.backend);
    ggml_backend_tensor_set(a, blocks, 0, ggml_row_size(type, K) * N);
    ggml_backend_tensor_set(b, x, 0, sizeof(float) * K * (size_t)m);
    return o;
}

/* ---- Takt ---- */

typedef struct ours {
    const takt_kernel *kernel;
    takt_ggml_round round;
    takt_ggml_i8 product;
} ours;

static ours prepare_ours(takt_ggml_format format, size_t m, const void *blocks, const float *x)
{
    const takt_kernel *kernel = takt_kernel_find("ggml_i8", takt_isa_detect(), NULL, 0, NULL);
    const takt_ggml_i8_info *info = kernel->info;
    const size_t count = K / takt_ggml_formats[format].weights;
    void *panels = get(takt_ggml_panels(N) * count * takt_ggml_panel_block(format));
    void *rounded = get(info->bytes(format, m, count));
    if (takt_ggml_has_panels(format))
        takt_ggml_pack(&(takt_ggml_rows){format, N, count, blocks}, panels);
    else
        memcpy(panels, blocks, N * count * takt_ggml_formats[format].bytes);
    return (ours){kernel,
                  {format, m, count, 0, m, x, K, rounded},
                  {format, m, N, count, panels, rounded, get(m * N * sizeof(float)), N}};
}

static void run_ours(const ours *o)
{
    ((const takt_ggml_i8_info *)o->kernel->info)->round(&o->round);
    takt_kernel_as_ggml_i8(o->kernel)(&o->product);
}

static void fill(enum ggml_type type, takt_ggml_format format, uint8_t *blocks)
{
    const size_t bytes = ggml_row_size(type, K) * N;
    float *w = get(sizeof *w * K * N);
    for (size_t i = 0; i < (size_t)K * N; i++)
        w[i] = (float)(rand() % 2001 - 1000) / 1000;
    for (size_t i = 0; i < bytes; i++)
        blocks[i] = (uint8_t)rand();
    if (takt_ggml_has_panels(format))
        ggml_quantize_chunk(type, w, blocks, 0, N, K, NULL);
    free(w);
}

static void compare(enum ggml_type type, takt_ggml_format format, int m)
{
    float *x = get(sizeof *x * K * (size_t)m);
    uint8_t *blocks = get(ggml_row_size(type, K) * N);
    fill(type, format, blocks);
    for (size_t i = 0; i < K * (size_t)m; i++)
        x[i] = (float)(rand() % 2001 - 1000) / 1000;
    const theirs a = prepare(type, m, blocks, x);
    const ours b = prepare_ours(format, (size_t)m, blocks, x);
    double least[2] = {1e30, 1e30};
    for (int round = 0; round < ROUNDS * 2; round++) {
        const int who = (round + round / 2) % 2; /* there and back */
        const double begin = now_us();
        if (who == 0)
            run_ours(&b);
        else
            ggml_backend_graph_compute(a.backend, a.graph);
        const double took = now_us() - begin;
        least[who] = took < least[who] ? took : least[who];
    }
    printf("| %s | %d | %.1f | %.1f | %.2f |\n", takt_ggml_formats[format].name, m, least[0],
           least[1], least[1] / least[0]);
    fflush(stdout);
}

int main(void)
{
    static const int rows[] = {1, 2, 4, 8, 64};
    for (int f = 0; f < TAKT_GGML_FORMATS; f++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (f != TAKT_GGML_Q4_0 && f != TAKT_GGML_Q8_0 && /* these are block_matmul's */
                takt_ggml_formats[f].code < GGML_TYPE_COUNT)
                compare((enum ggml_type)takt_ggml_formats[f].code, (takt_ggml_format)f, rows[i]);
    return 0;
}
