/* sweep.c - the speed of matrix products over tile sizes and prefetching; bits must not change. */
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/isa.h"

enum { N = 1024, TRIES = 3 };

typedef struct point {
    const char *name;
    takt_gemm_blocking blocking;
} point;

static const point tiles[] = {
    {"default", {0}},
    {"rows 24", {.rows = 24}},
    {"rows 48", {.rows = 48}},
    {"rows 96", {.rows = 96}},
    {"rows 192", {.rows = 192}},
    {"rows 384", {.rows = 384}},
    {"depth 256", {.k = 256}},
    {"depth 512", {.k = 512}},
    {"depth 1024", {.k = 1024}},
    {"columns 48", {.cols = 48}},
    {"columns 96", {.cols = 96}},
    {"columns 192", {.cols = 192}},
    {"columns 384", {.cols = 384}},
    {"columns 1024", {.cols = 1024}},
};
static const point distances[] = {
    {"default", {0}},
    {"none", {.no_prefetch = true}},
    {"distance 1", {.skip = 1}},
    {"distance 16", {.skip = 16}},
    {"distance 64", {.skip = 64}},
    {"distance 256", {.skip = 256}},
    {"line 32", {.line = 32}},
    {"line 128", {.line = 128}},
    {"line 256", {.line = 256}},
};

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* GFLOP/s, the best of a few; 0 without memory. The product is in g->c. */
static double speed(const takt_kernel *kernel, takt_gemm_f32 *g)
{
    const takt_gemm_f32_info *info = kernel->info;
    double best = INFINITY;
    g->scratch = aligned_alloc(64, (info->scratch_bytes(g) + 127) / 64 * 64);
    for (int i = 0; g->scratch != NULL && i < TRIES; i++) {
        const double start = now();
        takt_kernel_as_gemm_f32(kernel)(g);
        best = fmin(best, now() - start);
    }
    free(g->scratch);
    return best < INFINITY ? 2.0 * N * N * N / best * 1e-9 : 0;
}

static int curve(const takt_kernel *kernel, takt_gemm_f32 *g, const point *points, size_t count)
{
    static float first[N * N];
    int failed = 0;
    double usual = 0;
    for (size_t i = 0; i < count; i++) {
        g->blocking = &points[i].blocking;
        const double found = speed(kernel, g);
        if (i == 0) {
            memcpy(first, g->c, sizeof first);
            usual = found;
        }
        const int same = memcmp(first, g->c, sizeof first) == 0;
        failed += !same;
        printf("  %-14s %7.1f GFLOP/s  %6.3f%s\n", points[i].name, found, found / usual,
               same ? "" : "  OTHER BITS");
    }
    return failed;
}

static int sweep_kernel(const takt_kernel *kernel, const char *what)
{
    const takt_gemm_f32_info *info = kernel->info;
    const size_t columns = takt_panels_columns(info->panels, N), count = columns * N + 2 * N * N;
    float *memory = aligned_alloc(64, count * sizeof *memory);
    int failed = memory == NULL;
    for (size_t i = 0; memory != NULL && i < count; i++)
        memory[i] = (float)(i * 2654435761u % 4096) / 1024 - 2;
    takt_gemm_f32 g = {.m = N, .n = N, .k = N, .a_row = N, .a_col = 1, .b_n = N, .ldc = N};
    if (memory != NULL) {
        g.b = memory;
        g.a = memory + columns * N;
        g.c = memory + columns * N + N * N;
        printf("gemm_f32/%s, %d x %d x %d\n", kernel->name, N, N, N);
        if (strstr(what, "tile") != NULL)
            failed += curve(kernel, &g, tiles, sizeof tiles / sizeof *tiles);
        if (strstr(what, "prefetch") != NULL)
            failed += curve(kernel, &g, distances, sizeof distances / sizeof *distances);
    }
    free(memory);
    return failed;
}

int check_sweep(const char *what, const char *family)
{
    const takt_isa_set here = takt_isa_detect();
    size_t swept = 0;
    int failed = check_sweep_steps(what, family, &swept);
    for (size_t i = 0; i < takt_kernel_unit_count; i++) {
        const takt_kernel_unit *u = takt_kernel_units[i];
        if (strcmp(u->family, "gemm_f32") != 0 || u->isa == TAKT_ISA_scalar ||
            (family != NULL && strcmp(family, u->family) != 0) || (here >> u->isa & 1) == 0)
            continue;
        for (size_t k = 0; k < u->count; k++, swept++)
            failed += sweep_kernel(&u->kernels[k], what);
    }
    if (swept == 0 || (strstr(what, "tile") == NULL && strstr(what, "prefetch") == NULL)) {
        printf("FAIL nothing to sweep: knobs are tile and prefetch, families gemm_f32, gemm_f64, "
               "gemm_f16, conv, conv_depthwise, winograd, attention\n");
        failed++;
    }
    return failed;
}
