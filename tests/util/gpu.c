/* gpu.c - the tests' CUDA driver: its device, and the table of its functions. */
#include "util/gpu.h"

#include <string.h>

#include "backend/list.h"
#include "util/gpu_state.h"

gpu_state gpu;

int gpu_call(void)
{
    gpu.count.calls++;
    if (gpu.set.fail_call == 0 || gpu.count.calls < gpu.set.fail_call ||
        (gpu.count.calls > gpu.set.fail_call && !gpu.set.fail_ever))
        return TAKT_CU_OK;
    return gpu.set.fail_result;
}
void gpu_complain(const char *why)
{
    gpu.count.wrong = gpu.count.wrong == NULL ? why : gpu.count.wrong;
}

/* ---- the device ---- */

int gpu_init(unsigned flags)
{
    (void)flags;
    GPU_CALL();
    return gpu.set.init_result;
}
int gpu_driver_version(int *version)
{
    GPU_CALL();
    *version = gpu.set.driver;
    return TAKT_CU_OK;
}
int gpu_device_count(int *count)
{
    GPU_CALL();
    *count = gpu.set.devices < 0 ? 0 : gpu.set.devices;
    return TAKT_CU_OK;
}
int gpu_device_get(int *device, int ordinal)
{
    GPU_CALL();
    *device = ordinal;
    return TAKT_CU_OK;
}
int gpu_device_name(char *name, int size, int device)
{
    (void)device;
    GPU_CALL();
    strncpy(name, "Test GPU", (size_t)size);
    return TAKT_CU_OK;
}
int gpu_shared_most(void)
{
    return (gpu.set.capability < 80 ? 64 : 227) << 10;
}
int gpu_device_attribute(int *value, int attribute, int device)
{
    enum { PROCESSORS = 8 };
    (void)device;
    GPU_CALL();
    *value = attribute == TAKT_CU_PROCESSORS    ? PROCESSORS
             : attribute == TAKT_CU_MOST_SHARED ? gpu_shared_most()
             : attribute == TAKT_CU_MAJOR       ? gpu.set.capability / 10
                                                : gpu.set.capability % 10;
    return TAKT_CU_OK;
}
int gpu_device_total(size_t *bytes, int device)
{
    (void)device;
    GPU_CALL();
    *bytes = gpu.set.memory;
    return TAKT_CU_OK;
}
int gpu_primary_retain(takt_cu_ctx *ctx, int device)
{
    (void)device;
    GPU_CALL();
    *ctx = (takt_cu_ctx)(void *)&gpu;
    gpu.count.live_objects++;
    return TAKT_CU_OK;
}
int gpu_primary_release(int device)
{
    (void)device;
    (void)gpu_call();
    gpu.count.live_objects--;
    return TAKT_CU_OK;
}
int gpu_ctx_push(takt_cu_ctx ctx)
{
    if (gpu.under != NULL || gpu.current == ctx)
        gpu_complain("a context is pushed twice");
    gpu.under = gpu.current;
    gpu.current = ctx;
    return TAKT_CU_OK;
}
int gpu_ctx_pop(takt_cu_ctx *ctx)
{
    *ctx = gpu.current;
    gpu.current = gpu.under;
    gpu.under = NULL;
    return TAKT_CU_OK;
}
int gpu_error_string(int error, const char **text)
{
    *text = error == TAKT_CU_OUT_OF_MEMORY ? "out of memory"
            : error == GPU_LOST            ? "unspecified launch failure"
                                           : "an error of the tests";
    return TAKT_CU_OK;
}

/* ---- the table ---- */

static const takt_cuda_driver table = {
#define X(field, symbol, parameters) .field = gpu_##field,
    TAKT_CUDA_FUNCTIONS(X) TAKT_CUDA_LATER(X)
#undef X
};

const takt_cuda_driver *gpu_driver(const gpu_settings *settings)
{
    gpu_drop_all();
    memset(&gpu, 0, sizeof gpu);
    gpu.set = *settings;
    gpu.set.driver = gpu.set.driver == 0 ? 13000 : gpu.set.driver;
    gpu.set.devices = gpu.set.devices == 0 ? 1 : gpu.set.devices;
    gpu.set.capability = gpu.set.capability == 0 ? 90 : gpu.set.capability;
    gpu.set.memory = gpu.set.memory == 0 ? (size_t)4 << 30 : gpu.set.memory;
    return &table;
}

gpu_counts gpu_count(void)
{
    return gpu.count;
}

void gpu_fail(uint64_t in_calls, int result, bool is_for_ever)
{
    gpu.set.fail_call = in_calls == 0 ? 0 : gpu.count.calls + in_calls;
    gpu.set.fail_result = result;
    gpu.set.fail_ever = is_for_ever;
}

void gpu_lose_in_graph(void)
{
    gpu.is_lost_in_graph = true;
}

void gpu_get_stuck(void)
{
    gpu.is_stuck = true;
}

void gpu_enter_other(void *context)
{
    gpu.current = context;
}

void *gpu_current(void)
{
    return gpu.current;
}

static takt_status open(takt_ctx *ctx, const char *which, int threads, void **state)
{
    takt_cuda *c = NULL;
    (void)threads;
    const takt_status status = takt_cuda_open(ctx, &table, which, &c);
    *state = c;
    return status;
}

static const takt_machine *slow(const void *state, takt_isa_set isas)
{
    static const takt_machine figures = {.flops_per_us = 1e6,
                                         .bytes_per_us = 1e6,
                                         .step_us = 700,
                                         .segment_us = 1,
                                         .copy_us = 1,
                                         .copied_per_us = 1e4};
    (void)state;
    (void)isas;
    return &figures;
}

const takt_backend *gpu_backend(void)
{
    static takt_backend backend;
    backend = takt_backend_cuda;
    backend.name = "gpu";
    backend.available = NULL;
    backend.version = NULL;
    backend.open = open;
    if (gpu.set.is_slow)
        backend.machine = slow;
    return &backend;
}
