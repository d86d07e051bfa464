/* sweep.c - products and convolutions by every tile, with k whole and cut: which one is fastest.
 *
 * Skipped without a device. The rates and the cost model of kernel/cuda/launch_gemm.c come
 * from this table: a star marks the fastest way, `chosen` the one that the model takes.
 */
#define _GNU_SOURCE
#include "gpu/bench.h"
#include "kernel/cuda/images.h"

typedef struct row {
    const char *what;
    uint32_t m, n, k, batches;
    uint32_t side, channels, window; /* of a convolution: side x side positions; 0: a product */
    uint32_t stride;
} row;

static const row rows[] = {
    {"product", 1024, 1024, 1024, 1, 0, 0, 0, 0},
    {"product", 4096, 4096, 4096, 1, 0, 0, 0, 0},
    {"product", 2048, 2048, 2048, 1, 0, 0, 0, 0},
    {"product", 512, 512, 512, 1, 0, 0, 0, 0},
    {"product", 256, 256, 256, 1, 0, 0, 0, 0},
    {"mlp b32, 1", 32, 256, 784, 1, 0, 0, 0, 0},
    {"mlp b32, 2", 32, 12, 256, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 112", 12544, 96, 16, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 14", 196, 384, 64, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 14 down", 196, 64, 384, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 7", 49, 960, 160, 1, 0, 0, 0, 0},
    {"winograd 14", 16, 256, 256, 36, 0, 0, 0, 0},
    {"winograd 28", 49, 128, 128, 36, 0, 0, 0, 0},
    {"winograd 56", 196, 64, 64, 36, 0, 0, 0, 0},
    {"encoder qkv", 128, 768, 768, 1, 0, 0, 0, 0},
    {"encoder up", 128, 3072, 768, 1, 0, 0, 0, 0},
    {"encoder down", 128, 768, 3072, 1, 0, 0, 0, 0},
    {"attention qk", 128, 128, 64, 12, 0, 0, 0, 0},
    {"attention pv", 128, 64, 128, 12, 0, 0, 0, 0},
    {"resnet 1x1 56", 3136, 256, 64, 1, 0, 0, 0, 0},
    {"resnet 1x1 28", 784, 512, 128, 1, 0, 0, 0, 0},
    {"resnet 1x1 14", 196, 1024, 256, 1, 0, 0, 0, 0},
    {"resnet 1x1 14 down", 196, 256, 1024, 1, 0, 0, 0, 0},
    {"resnet 1x1 7", 49, 2048, 512, 1, 0, 0, 0, 0},
    {"resnet 1x1 7 down", 49, 512, 2048, 1, 0, 0, 0, 0},
    {"resnet 3x3 56", 3136, 64, 576, 1, 56, 64, 3, 1},
    {"resnet 3x3 28", 784, 128, 1152, 1, 28, 128, 3, 1},
    {"resnet 3x3 14", 196, 256, 2304, 1, 14, 256, 3, 1},
    {"resnet 3x3 7", 49, 512, 4608, 1, 7, 512, 3, 1},
    {"resnet b32 1x1 14", 32 * 196, 1024, 256, 1, 0, 0, 0, 0},
    {"resnet b32 3x3 28", 32 * 784, 128, 1152, 1, 28, 128, 3, 1},
    {"resnet b32 3x3 7", 32 * 49, 512, 4608, 1, 7, 512, 3, 1},
    {"resnet 7x7", 12544, 64, 147, 1, 112, 3, 7, 2},
    {"resnet b32 7x7", 32 * 12544, 64, 147, 1, 112, 3, 7, 2},
    {"resnet 3x3 28 from 56", 784, 128, 1152, 1, 28, 128, 3, 2},
    {"resnet 3x3 7 from 14", 49, 512, 4608, 1, 7, 512, 3, 2},
    {"resnet 1x1 28 from 56", 784, 512, 256, 1, 28, 256, 1, 2},
    {"resnet 1x1 14 from 28", 196, 1024, 512, 1, 14, 512, 1, 2},
    {"resnet 1x1 7 from 14", 49, 2048, 1024, 1, 7, 1024, 1, 2},
    {"b32 1x1 28 from 56", 32 * 784, 512, 256, 1, 28, 256, 1, 2},
    {"b32 1x1 14 from 28", 32 * 196, 1024, 512, 1, 14, 512, 1, 2},
    {"b32 1x1 7 from 14", 32 * 49, 2048, 1024, 1, 7, 1024, 1, 2},
    {"b32 3x3 14 from 28", 32 * 196, 256, 2304, 1, 14, 256, 3, 2},
    {"b32 1x1 56", 32 * 3136, 256, 64, 1, 0, 0, 0, 0},
    {"b32 1x1 56 down", 32 * 3136, 64, 256, 1, 0, 0, 0, 0},
    {"b32 1x1 56 to 28", 32 * 3136, 128, 256, 1, 0, 0, 0, 0},
    {"b32 1x1 28", 32 * 784, 512, 128, 1, 0, 0, 0, 0},
    {"b32 1x1 28 down", 32 * 784, 128, 512, 1, 0, 0, 0, 0},
    {"b32 1x1 28 to 14", 32 * 784, 256, 512, 1, 0, 0, 0, 0},
    {"b32 1x1 14 down", 32 * 196, 256, 1024, 1, 0, 0, 0, 0},
    {"b32 1x1 14 to 7", 32 * 196, 512, 1024, 1, 0, 0, 0, 0},
    {"b32 1x1 7", 32 * 49, 2048, 512, 1, 0, 0, 0, 0},
    {"b32 1x1 7 down", 32 * 49, 512, 2048, 1, 0, 0, 0, 0},
    {"b32 winograd 56", 32 * 196, 64, 64, 36, 0, 0, 0, 0},
    {"b32 winograd 28", 32 * 49, 128, 128, 36, 0, 0, 0, 0},
    {"b32 winograd 14", 32 * 16, 256, 256, 36, 0, 0, 0, 0},
    {"b32 winograd 7", 32 * 4, 512, 512, 36, 0, 0, 0, 0},
    {"winograd 7", 4, 512, 512, 36, 0, 0, 0, 0},
    {"mobilenet 3x3", 12544, 32, 27, 1, 112, 3, 3, 2},
    {"mobilenet 1x1 112 down", 12544, 16, 32, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 56 down", 3136, 24, 144, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 56", 3136, 144, 24, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 28 down", 784, 32, 192, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 28", 784, 192, 32, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 14 wide", 196, 96, 576, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 7 down", 49, 160, 960, 1, 0, 0, 0, 0},
    {"mobilenet 1x1 7 last", 49, 1280, 320, 1, 0, 0, 0, 0},
};

static takt_cuda_gemm gemm_of(const row *r, size_t *a_count)
{
    takt_cuda_gemm g = {.m = r->m,
                        .n = r->n,
                        .k = r->k,
                        .a_row = r->k,
                        .a_col = 1,
                        .b_row = r->n,
                        .b_col = 1,
                        .c_row = r->n,
                        .inner = r->batches,
                        .a_inner = (int64_t)r->m * r->k,
                        .b_inner = (int64_t)r->k * r->n,
                        .c_inner = (int64_t)r->m * r->n,
                        .keeps_b = 1};
    *a_count = (size_t)r->m * r->k * r->batches;
    if (r->side > 0) {
        const uint32_t s = r->side, c = r->channels, across = s * r->stride;
        g.is_conv = 1;
        g.height = g.width = across;
        g.out_height = g.out_width = s;
        g.channels = g.pixel = c;
        g.kernel_width = r->window;
        g.stride_h = g.stride_w = r->stride;
        g.dilation_h = g.dilation_w = 1;
        g.pad_h = g.pad_w = (int32_t)r->window / 2;
        g.image = across * across * c;
        g.adds_zero = r->k % 4 != 0;
        *a_count = (size_t)r->m / (s * s) * g.image;
    }
    return g;
}

/* The product with A as lines of each k, for the tiles that take it so. */
static takt_cuda_gemm lined(const row *r, const takt_cuda_gemm *g, const float *a)
{
    takt_cuda_gemm l = *g;
    float *t = malloc((size_t)r->m * r->k * sizeof *t);
    for (size_t i = 0; i < (size_t)r->m * r->k; i++)
        t[i % r->k * r->m + i / r->k] = a[i];
    l.a = device((size_t)r->m * r->k, t);
    l.a_row = 1;
    l.a_col = r->m;
    l.is_aligned = 1;
    free(t);
    return l;
}

static void sweep(const row *r)
{
    const takt_cuda_block_room has = device_room();
    size_t a_count;
    takt_cuda_gemm g = gemm_of(r, &a_count);
    const size_t c_count = (size_t)r->m * r->n * r->batches;
    float *a = random_floats(a_count), *b = random_floats((size_t)r->k * r->n * r->batches);
    float *first = malloc(c_count * sizeof *first);
    double best = 0, us[64];
    const char *name[64];
    bool is_cut[64] = {false};
    g.a = device(a_count, a);
    g.b = device((size_t)r->k * r->n * r->batches, b);
    g.c = device(c_count, NULL);
    const bool can_line = r->side == 0 && r->batches == 1;
    const takt_cuda_gemm turned = can_line ? lined(r, &g, a) : g;
    const size_t chosen = takt_cuda_gemm_plan_of(&g, r->batches, &has, TAKT_CUDA_GEMM_ANY).way;
    bool has_first = false;
    for (size_t way = 0; way < takt_cuda_gemm_ways() && way < 64; way++) {
        takt_cuda_gemm_plan p = takt_cuda_gemm_plan_of(&g, r->batches, &has, way);
        const takt_cuda_gemm *of = p.way == SIZE_MAX ? &turned : &g;
        if (p.way == SIZE_MAX)
            p = takt_cuda_gemm_plan_of(&turned, r->batches, &has, way);
        us[way] = 0;
        if (p.way == SIZE_MAX)
            continue;
        float *scratch = device(p.scratch_bytes / 4 + 1, NULL);
        uint32_t *tickets = device_zeros(p.tickets);
        takt_cuda_launch l;
        takt_cuda_launch_gemm(of, r->batches, &p, scratch, tickets, &l);
        us[way] = device_us((takt_cuda_launch *[]){&l}, 1);
        name[way] = l.kernel + sizeof "takt_cuda_gemm_f32" - 1;
        is_cut[way] = l.args.gemm.pieces > 1;
        best = best == 0 || us[way] < best ? us[way] : best;
        if (!has_first) {
            need(d.copy_down(first, (takt_cu_ptr)(uintptr_t)g.c, c_count * 4, cuda->stream),
                 "copy");
            need(d.stream_wait(cuda->stream), "copy");
            has_first = true;
        } else if (differing(g.c, first, c_count) != 0) {
            printf("FAIL %s: the bits of %s differ\n", r->what, l.kernel);
            wrong++;
        }
        release(scratch), release(tickets);
    }
    printf("%-20s %5ux%ux%u x%u:", r->what, r->m, r->n, r->k, r->batches);
    const double flops = 2.0 * r->m * r->n * r->k * r->batches;
    for (size_t way = 0; way < takt_cuda_gemm_ways() && way < 64; way++)
        if (us[way] > 0)
            printf(" %s%s %.1f%s%s", name[way], is_cut[way] ? "/k" : "", us[way],
                   us[way] == best ? "*" : "", way == chosen ? " chosen" : "");
    printf("; best %.1f us %.1f TFLOP/s\n", best, flops / best / 1e6);
    if (can_line)
        release(turned.a);
    release(g.a), release(g.b), release(g.c);
    free(a), free(b), free(first);
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        sweep(&rows[i]);
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    takt_ctx_destroy(ctx);
    return wrong != 0;
}
