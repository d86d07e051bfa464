/* cuda_device.c - runs device kernels for check_kernels on fibers, or on a device.
 *
 * A device gets copies of the operands at addresses of the same alignment, and returns its results.
 * Copies take most of the time; the cases are the same.
 */
#include "cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/ctx.h>

#include "backend/cuda/device.h"

static grid_order order;
static void *scratch;
static size_t scratch_bytes;

void device_order(grid_order next)
{
    order = next;
}

/* ---- a real device ---- */

enum { ROOM = 256 << 20, OUTS = 8, GAP = 256 };

static struct {
    takt_cuda *cuda; /* NULL: fibers */
    takt_cu_ptr room;
    size_t used;
    struct {
        void *host;
        takt_cu_ptr device;
        size_t bytes;
    } outs[OUTS];
    size_t out_count;
} real;

static void fail(const char *kernel, const char *why);

static void need(int result, const char *what)
{
    if (result != TAKT_CU_OK)
        fail(what, takt_cuda_text(&real.cuda->driver, result));
}

const char *device_open(void)
{
    takt_ctx *ctx;
    takt_cuda_driver driver;
    const char *why = takt_cuda_load(&driver);
    if (why != NULL)
        return why;
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK ||
        takt_cuda_open(ctx, &driver, NULL, &real.cuda) != TAKT_OK)
        return "the device cannot be opened";
    takt_cuda_enter(real.cuda);
    need(driver.mem_get(&real.room, ROOM), "memory");
    return NULL;
}

static takt_cu_ptr copied(const void *host, size_t bytes)
{
    const takt_cu_ptr at = real.room + real.used + ((uintptr_t)host & (GAP - 1));
    real.used += (bytes + 3 * GAP) / GAP * GAP;
    if (real.used > ROOM)
        fail("operands", "more than the room of a check");
    if (bytes > 0)
        need(real.cuda->driver.copy_up(at, host, bytes, real.cuda->stream), "copy");
    return at;
}

/* ---- operands ---- */

const void *device_in(const void *host, size_t bytes)
{
    return real.cuda != NULL ? (const void *)(uintptr_t)copied(host, bytes) : host;
}

void *device_out(void *host, size_t bytes)
{
    if (real.cuda == NULL)
        return host;
    const takt_cu_ptr at = copied(host, bytes);
    real.outs[real.out_count].host = host;
    real.outs[real.out_count].device = at;
    real.outs[real.out_count++].bytes = bytes;
    return (void *)(uintptr_t)at;
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
    if (real.cuda != NULL && bytes > 0)
        return (void *)(uintptr_t)copied(scratch, bytes);
    return scratch;
}

static uint32_t *tickets;
static uint32_t ticket_count;

uint32_t *device_tickets(uint32_t count)
{
    free(tickets);
    tickets = calloc(count + 1, sizeof *tickets);
    ticket_count = count;
    return device_out(tickets, count * sizeof *tickets);
}

static struct {
    const char *kernel;
    takt_lane_fn *run;
    void (*give_up)(void);
} planted;

void device_plant(const char *kernel, takt_lane_fn *broken, void (*give_up)(void))
{
    planted.kernel = kernel;
    planted.run = broken;
    planted.give_up = give_up;
}

static void fail(const char *kernel, const char *why)
{
    if (planted.give_up != NULL)
        planted.give_up();
    printf("FAIL %s: %s\n", kernel, why);
    exit(1);
}

static void launch_real(const takt_cuda_launch *l)
{
    takt_cu_function function;
    takt_cuda_launch copy = *l;
    void *parameters[1] = {&copy.args};
    takt_error error;
    if (takt_cuda_function(real.cuda, l, &error, &function) != TAKT_OK)
        fail(l->kernel, error.message);
    const takt_cuda_driver *d = &real.cuda->driver;
    need(l->is_together
             ? d->launch_together(function, l->grid[0], l->grid[1], l->grid[2], l->threads, 1, 1,
                                  l->shared_bytes, real.cuda->stream, parameters)
             : d->launch(function, l->grid[0], l->grid[1], l->grid[2], l->threads, 1, 1,
                         l->shared_bytes, real.cuda->stream, parameters, NULL),
         l->kernel);
}

void device_launch(const takt_cuda_launch *launches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const takt_cuda_launch *l = &launches[i];
        if (real.cuda != NULL) {
            launch_real(l);
            continue;
        }
        uint32_t most = 0;
        grid_launch g = {.kernel = grid_find(l->kernel, &most),
                         .grid = {l->grid[0], l->grid[1], l->grid[2]},
                         .threads = l->threads,
                         .shared_bytes = l->shared_bytes,
                         .is_together = l->is_together,
                         .order = order};
        if (planted.kernel != NULL && strcmp(planted.kernel, l->kernel) == 0)
            g.kernel = planted.run;
        if (g.kernel == NULL || l->threads > most)
            fail(l->kernel, g.kernel == NULL ? "there is no such kernel" : "too many threads");
        const char *wrong = grid_run(&g, &l->args);
        if (wrong != NULL)
            fail(l->kernel, wrong);
    }
}

void device_end(void)
{
    for (size_t i = 0; i < real.out_count; i++)
        need(real.cuda->driver.copy_down(real.outs[i].host, real.outs[i].device, real.outs[i].bytes,
                                         real.cuda->stream),
             "copy");
    if (real.cuda != NULL)
        need(real.cuda->driver.stream_wait(real.cuda->stream), "a kernel");
    real.used = real.out_count = 0;
    for (uint32_t i = 0; i < ticket_count; i++)
        if (tickets[i] != 0)
            fail("tickets", "they are not 0 after a launch");
    ticket_count = 0;
}
