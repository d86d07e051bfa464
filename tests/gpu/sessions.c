/* sessions.c - ten thousand sessions on a device, made, run and destroyed: nothing grows.
 *
 * Skipped where there is no device. Two contexts alternate, like two libraries in one process.
 * Memory of the device and of the process is compared after a tenth of the sessions and at the end;
 * every result has the bits of the first.
 *
 *     gpu_sessions [COUNT]
 */
#define _GNU_SOURCE
#include <takt/takt.h>

#include "gpu/bench.h"
#include "kernel/cuda/images.h"

enum { CONTEXTS = 2, GROWTH = 4 << 20 /* bytes that a driver may take meanwhile */ };

typedef struct side {
    takt_ctx *ctx;
    takt_model *model;
    takt_plan *plan;
} side;

static bool open_side(side *s)
{
    const takt_plan_options o = {.sizes = "batch=4", .backend = "cuda"};
    return takt_ctx_create(NULL, &s->ctx) == TAKT_OK &&
           takt_model_load(s->ctx, "examples/mlp.takt", NULL, &s->model) == TAKT_OK &&
           takt_plan_create(s->model, &o, &s->plan) == TAKT_OK;
}

static void close_side(side *s)
{
    takt_plan_destroy(s->plan);
    takt_model_destroy(s->model);
    takt_ctx_destroy(s->ctx);
}

static size_t resident_bytes(void)
{
    size_t all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL && fscanf(f, "%zu %zu", &all, &resident) != 2)
        resident = 0;
    if (f != NULL)
        fclose(f);
    return resident * 4096;
}

static size_t device_bytes(void)
{
    size_t left = 0, all = 0;
    need(d.mem_info(&left, &all), "memory");
    return all - left;
}

/* The first output for inputs that are all equal. */
static bool run_one_session(const side *s, float *result, size_t count)
{
    takt_session *session = NULL;
    bool ok = takt_session_create(s->plan, NULL, &session) == TAKT_OK;
    if (ok) {
        const takt_tensor_view *x = takt_session_input(session, 0);
        for (int64_t i = 0; i < x->dims[0] * x->dims[1]; i++)
            ((float *)x->data)[i] = (float)(i % 17) / 16.0f;
        ok = takt_session_run(session) == TAKT_OK;
    }
    if (ok)
        memcpy(result, takt_session_output(session, 0)->data, count * sizeof *result);
    takt_session_destroy(session);
    return ok;
}

static void repeat(const side *sides, long count)
{
    enum { RESULTS = 4 };
    float first[RESULTS], next[RESULTS];
    size_t device_before = 0, host_before = 0;
    for (long i = 0; i < count && wrong == 0; i++) {
        if (!run_one_session(&sides[i % CONTEXTS], i == 0 ? first : next, RESULTS)) {
            printf("FAIL session %ld: %s\n", i, takt_last_error(sides[i % CONTEXTS].ctx));
            wrong++;
        }
        wrong += i > 0 && memcmp(first, next, sizeof first) != 0;
        if (i == count / 10) {
            device_before = device_bytes();
            host_before = resident_bytes();
        }
    }
    const size_t device_after = device_bytes(), host_after = resident_bytes();
    printf("%ld sessions: device %zu KiB before, %zu KiB after; host %zu KiB, %zu KiB\n", count,
           device_before >> 10, device_after >> 10, host_before >> 10, host_after >> 10);
    wrong += device_after > device_before + GROWTH || host_after > host_before + GROWTH;
}

int main(int argc, char **argv)
{
    takt_ctx *ctx;
    side sides[CONTEXTS] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    if (!open_device(ctx, takt_cuda_targets())) {
        takt_ctx_destroy(ctx);
        return 77;
    }
    bool ok = true;
    for (int i = 0; i < CONTEXTS && ok; i++)
        ok = open_side(&sides[i]);
    wrong += !ok;
    if (ok)
        repeat(sides, count);
    for (int i = 0; i < CONTEXTS; i++)
        close_side(&sides[i]);
    takt_cuda_leave(cuda);
    takt_cuda_close(cuda);
    takt_ctx_destroy(ctx);
    printf("%s\n", wrong == 0 ? "nothing grew" : "FAIL");
    return wrong != 0;
}
