/* bench.h - timing launches on a device, and comparing what they wrote with the cpu's bits. */
#ifndef TAKT_TESTS_GPU_BENCH_H
#define TAKT_TESTS_GPU_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/device.h"

static takt_cuda *cuda;
static takt_cuda_driver d;
static takt_cu_event begin, end;
static long wrong;

enum { ROUNDS = 11 };

static void need(int result, const char *what)
{
    if (result != TAKT_CU_OK) {
        printf("FAIL %s: %s\n", what, takt_cuda_text(&d, result));
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x)
{
    qsort(x, ROUNDS, sizeof *x, by_value);
    return x[ROUNDS / 2];
}

static float *device(size_t count, const float *from)
{
    takt_cu_ptr p;
    need(d.mem_get(&p, count * sizeof(float)), "memory");
    if (from != NULL)
        need(d.copy_up(p, from, count * sizeof(float), cuda->stream), "copy");
    else
        need(d.fill(p, 0x3f800000, count, cuda->stream), "fill");
    return (float *)(uintptr_t)p;
}

static void release(const void *p)
{
    if (p != NULL)
        need(d.mem_put((takt_cu_ptr)(uintptr_t)p), "memory");
}

static float *random_floats(size_t count)
{
    static uint64_t state = 1;
    float *x = malloc(count * sizeof *x);
    for (size_t i = 0; x != NULL && i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = (float)(int32_t)(state >> 32) * 0x1p-29f;
    }
    return x;
}

static void once(takt_cuda_launch *l, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        takt_cu_function f;
        takt_error error;
        void *parameters[1] = {&l[i].args};
        if (takt_cuda_function(cuda, &l[i], &error, &f) != TAKT_OK) {
            printf("FAIL %s: %s\n", l[i].kernel, error.message);
            exit(1);
        }
        need(d.launch(f, l[i].grid[0], l[i].grid[1], l[i].grid[2], l[i].threads, 1, 1,
                      l[i].shared_bytes, cuda->stream, parameters, NULL),
             l[i].kernel);
    }
}

static double device_us(takt_cuda_launch *l, size_t count)
{
    double us[ROUNDS];
    for (int i = 0; i < 3; i++)
        once(l, count);
    for (int i = 0; i < ROUNDS; i++) {
        float ms;
        need(d.event_record(begin, cuda->stream), "event");
        once(l, count);
        need(d.event_record(end, cuda->stream), "event");
        need(d.event_wait(end), "a kernel");
        need(d.event_elapsed(&ms, begin, end), "event");
        us[i] = (double)ms * 1e3;
    }
    return median(us);
}

static long differing(const float *there, const float *want, size_t count)
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

static void line(const char *what, const takt_cuda_launch *l, double us, double flops, double bytes,
                 long differ)
{
    char bits[64] = "";
    if (differ >= 0)
        snprintf(bits, sizeof bits, "  %ld differ", differ);
    printf("%-28s %-24s %10.2f us %8.2f TFLOP/s %8.1f GB/s%s\n", what, l->kernel + 10, us,
           flops / us / 1e6, bytes / us / 1e3, bits);
    wrong += differ > 0;
}

#endif
