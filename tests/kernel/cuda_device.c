/* cuda_device.c - runs device kernels for check_kernels on fibers. */
#include "cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static grid_order order;
static void *scratch;
static size_t scratch_bytes;

void device_order(grid_order next)
{
    order = next;
}

const void *device_in(const void *host, size_t bytes)
{
    (void)bytes;
    return host;
}

void *device_out(void *host, size_t bytes)
{
    (void)bytes;
    return host;
}

void *device_scratch(size_t bytes)
{
    if (bytes > scratch_bytes) {
        free(scratch);
        scratch = malloc(bytes);
        scratch_bytes = bytes;
    }
    if (scratch != NULL)
        memset(scratch, 0xff, bytes);
    return scratch;
}

static void fail(const char *kernel, const char *why)
{
    printf("FAIL %s: %s\n", kernel, why);
    exit(1);
}

void device_launch(const takt_cuda_launch *launches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const takt_cuda_launch *l = &launches[i];
        uint32_t most = 0;
        grid_launch g = {.kernel = grid_find(l->kernel, &most),
                         .grid = {l->grid[0], l->grid[1], l->grid[2]},
                         .threads = l->threads,
                         .shared_bytes = l->shared_bytes,
                         .order = order};
        if (g.kernel == NULL || l->threads > most)
            fail(l->kernel, g.kernel == NULL ? "there is no such kernel" : "too many threads");
        const char *wrong = grid_run(&g, &l->args);
        if (wrong != NULL)
            fail(l->kernel, wrong);
    }
}

void device_end(void) {}
