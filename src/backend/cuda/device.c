/* device.c - opens a device, loads code, copies. */
#include "backend/cuda/device.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "os/os.h"
#include "plan/auto.h"

void takt_cuda_enter(takt_cuda *c)
{
    (void)c->driver.ctx_push(c->context);
}

void takt_cuda_leave(takt_cuda *c)
{
    takt_cu_ctx was;
    (void)c->driver.ctx_pop(&was);
}

/* Errors of kernels stay: after them the driver answers every call with the same. */
static bool is_final(int result)
{
    return result >= 700 && result < 800;
}

takt_status takt_cuda_check(takt_cuda *c, takt_error *error, int result, const char *what)
{
    if (result == TAKT_CU_OK)
        return TAKT_OK;
    if (is_final(result))
        atomic_store(&c->lost, result);
    takt_error_set(error,
                   result == TAKT_CU_OUT_OF_MEMORY ? TAKT_E_DEVICE_MEMORY : TAKT_E_DEVICE_FAILED,
                   "%s: %s (CUDA error %d on device %d, %s)", what,
                   takt_cuda_text(&c->driver, result), result, c->facts.ordinal, c->facts.name);
    if (is_final(result))
        takt_error_hint(error, "the driver refuses the device to this process from now on: "
                               "restart it; sessions on the cpu go on");
    return error->status;
}

takt_status takt_cuda_waited(takt_cuda *c, takt_error *error, int result, const char *what)
{
    char text[64];
    if (result != TAKT_CU_TIMEOUT || !atomic_load(&c->is_stuck))
        return takt_cuda_check(c, error, result, what);
    (void)snprintf(text, sizeof text, "%s: no end within %d s", what, TAKT_CUDA_LIMIT_S);
    return takt_cuda_check(c, error, result, text);
}

takt_status takt_cuda_usable(takt_cuda *c, takt_error *error)
{
    if (takt_os_process() != c->process) {
        takt_error_set(error, TAKT_E_DEVICE_FAILED,
                       "device %d, %s, was opened before a fork, and is the parent's",
                       c->facts.ordinal, c->facts.name);
        takt_error_hint(error, "open it in the child, with a context made there");
        return error->status;
    }
    return takt_cuda_check(c, error, atomic_load(&c->lost), "the device failed before");
}

/* ---- code ---- */

static takt_status load(takt_cuda *c, const char *kernel, takt_error *error, size_t *index)
{
    takt_cuda_image image = {NULL, NULL, 0};
    *index = takt_cuda_image_of(kernel);
    if (*index >= TAKT_CUDA_IMAGES - 1 || !takt_cuda_image_at(*index, &image))
        *index = TAKT_CUDA_IMAGES - 1; /* no code: only the tests' driver can continue */
    if (c->modules[*index] != NULL)
        return TAKT_OK;
    const int result = c->driver.module_load(&c->modules[*index], image.data);
    return takt_cuda_check(c, error, result, "device code cannot be loaded");
}

static takt_status find(takt_cuda *c, const char *kernel, takt_error *error,
                        takt_cu_function *function)
{
    size_t image;
    for (size_t i = 0; i < c->kernel_count; i++)
        if (strcmp(c->kernels[i].name, kernel) == 0) {
            *function = c->kernels[i].function;
            return TAKT_OK;
        }
    TAKT_TRY(load(c, kernel, error, &image));
    const int result = c->driver.module_function(function, c->modules[image], kernel);
    TAKT_TRY(takt_cuda_check(c, error, result, kernel));
    if (c->kernel_count < TAKT_CUDA_KERNELS) {
        c->kernels[c->kernel_count].name = kernel;
        c->kernels[c->kernel_count++].function = *function;
    }
    return TAKT_OK;
}

/* More shared memory than a kernel gets by default. A kernel keeps what it was given, since
 * launches of other sessions rely on it. */
static takt_status allow_shared(takt_cuda *c, const takt_cuda_launch *l, takt_error *error,
                                takt_cu_function function)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    size_t i = 0;
    while (i < c->kernel_count && c->kernels[i].function != function)
        i++;
    const uint32_t has = i < c->kernel_count ? c->kernels[i].shared_bytes : 0;
    if (l->shared_bytes <= (has > WITHOUT_ASKING ? has : WITHOUT_ASKING))
        return TAKT_OK;
    TAKT_TRY(takt_cuda_check(
        c, error,
        c->driver.function_set(function, TAKT_CU_MAX_DYNAMIC_SHARED, (int)l->shared_bytes),
        l->kernel));
    if (i < c->kernel_count)
        c->kernels[i].shared_bytes = l->shared_bytes;
    return TAKT_OK;
}

takt_status takt_cuda_function(takt_cuda *c, const takt_cuda_launch *l, takt_error *error,
                               takt_cu_function *function)
{
    takt_lock_take(&c->lock);
    takt_status status = find(c, l->kernel, error, function);
    if (status == TAKT_OK)
        status = allow_shared(c, l, error, *function);
    takt_lock_give(&c->lock);
    return status;
}

/* ---- open and close ---- */

static takt_status refuse(takt_ctx *ctx, const char *why)
{
    return takt_fail(ctx, TAKT_E_LIBRARY, "backend cuda cannot be used: %s", why);
}

/* "1" is 1; NULL, "" and the choice of the plan are 0. */
static bool named(const char *which, int *ordinal)
{
    enum { MOST = 100 };
    *ordinal = 0;
    if (which != NULL && strcmp(which, TAKT_DEVICE_AUTO) == 0)
        return true;
    for (; which != NULL && *which != '\0'; which++) {
        if (*which < '0' || *which > '9' || *ordinal > MOST)
            return false;
        *ordinal = 10 * *ordinal + (*which - '0');
    }
    return true;
}

takt_status takt_cuda_open(takt_ctx *ctx, const takt_cuda_driver *driver, const char *which,
                           takt_cuda **cuda)
{
    char text[256];
    void *block;
    *cuda = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_cuda), "cuda", &block));
    takt_cuda *c = block;
    c->ctx = ctx;
    c->process = takt_os_process();
    c->driver = *driver;
    int ordinal = 0;
    const bool is_named = named(which, &ordinal);
    const char *why = is_named ? takt_cuda_ask(driver, ordinal, &c->facts, text, sizeof text)
                               : "devices are called 0, 1, ...";
    takt_status status = why != NULL ? refuse(ctx, why) : TAKT_OK;
    /* Code made from PTX of older devices does not wait for the previous kernel. */
    const char *targets = takt_cuda_targets();
    c->is_early = c->facts.capability == 90 && driver->graph_edges != NULL && targets != NULL &&
                  strstr(targets, "sm_90") != NULL;
    if (status == TAKT_OK)
        status =
            takt_cuda_check(c, &ctx->error, driver->primary_retain(&c->context, c->facts.device),
                            "the device cannot be used");
    if (status == TAKT_OK) {
        takt_cuda_enter(c);
        status = takt_cuda_check(c, &ctx->error,
                                 driver->stream_create(&c->stream, TAKT_CU_STREAM_NON_BLOCKING),
                                 "no stream");
        takt_cuda_leave(c);
    }
    if (status != TAKT_OK) {
        takt_cuda_close(c);
        return status;
    }
    *cuda = c;
    return TAKT_OK;
}

void takt_cuda_close(takt_cuda *c)
{
    takt_ctx *ctx = c->ctx;
    if (c->context != NULL && !atomic_load(&c->is_stuck)) {
        takt_cuda_enter(c);
        for (size_t i = 0; i < TAKT_CUDA_IMAGES; i++)
            if (c->modules[i] != NULL)
                (void)c->driver.module_unload(c->modules[i]);
        if (c->stream != NULL)
            (void)c->driver.stream_destroy(c->stream);
        takt_cuda_leave(c);
        (void)c->driver.primary_release(c->facts.device);
    }
    takt_cuda_unload(&c->driver);
    takt_mem_put(ctx, c, sizeof *c);
}

/* ---- memory ---- */

/* Sessions of several threads come here; each failure is recorded whole. */
static takt_status record(takt_cuda *c, int result, const char *what)
{
    if (result == TAKT_CU_OK)
        return TAKT_OK;
    takt_lock_take(&c->lock);
    const takt_status status = takt_cuda_check(c, &c->ctx->error, result, what);
    takt_lock_give(&c->lock);
    return status;
}

static takt_status get(void *dev, size_t bytes, void **data)
{
    takt_cuda *c = dev;
    takt_cu_ptr ptr = 0;
    *data = NULL;
    takt_cuda_enter(c);
    const int result = c->driver.mem_get(&ptr, bytes);
    takt_cuda_leave(c);
    *data = (void *)(uintptr_t)ptr;
    return result == TAKT_CU_OK              ? TAKT_OK
           : result == TAKT_CU_OUT_OF_MEMORY ? TAKT_ERR_MEMORY
                                             : record(c, result, "memory");
}

static void put(void *dev, void *data, size_t bytes)
{
    takt_cuda *c = dev;
    (void)bytes;
    if (atomic_load(&c->is_stuck))
        return;
    takt_cuda_enter(c);
    (void)c->driver.mem_put((takt_cu_ptr)(uintptr_t)data);
    takt_cuda_leave(c);
}

int takt_cuda_copy(takt_cuda *c, takt_copy way, void *to, const void *from, size_t bytes)
{
    const takt_cu_ptr there = (takt_cu_ptr)(uintptr_t)to, here = (takt_cu_ptr)(uintptr_t)from;
    if (bytes == 0)
        return TAKT_CU_OK;
    takt_cuda_enter(c);
    int result = way == TAKT_COPY_UP     ? takt_cuda_upload(c, there, from, bytes)
                 : way == TAKT_COPY_DOWN ? c->driver.copy_down(to, here, bytes, c->stream)
                                         : c->driver.copy_within(there, here, bytes, c->stream);
    if (result == TAKT_CU_OK && way != TAKT_COPY_UP)
        result = c->driver.stream_wait(c->stream);
    takt_cuda_leave(c);
    return result;
}

static takt_status copy(void *dev, takt_copy way, void *to, const void *from, size_t bytes)
{
    return record(dev, takt_cuda_copy(dev, way, to, from, bytes), "a copy failed");
}

static void memory(void *dev, uint64_t *total, uint64_t *free)
{
    takt_cuda *c = dev;
    size_t left = 0, all = 0;
    takt_cuda_enter(c);
    if (c->driver.mem_info(&left, &all) != TAKT_CU_OK)
        left = 0, all = c->facts.memory;
    takt_cuda_leave(c);
    *total = all;
    *free = left;
}

/* ---- memory of the caller's ---- */

static int32_t number(const void *dev)
{
    const takt_cuda *c = dev;
    return c->facts.ordinal + 1;
}

static void look(void *dev, const void *data, int32_t *device, size_t *bytes)
{
    takt_cuda *c = dev;
    const takt_cu_ptr ptr = (takt_cu_ptr)(uintptr_t)data;
    unsigned type = 0;
    int ordinal = -1;
    takt_cu_ptr first = 0;
    size_t all = 0;
    *device = 0;
    *bytes = 0;
    takt_cuda_enter(c);
    if (c->driver.pointer(&type, TAKT_CU_MEMORY_TYPE, ptr) == TAKT_CU_OK &&
        type == TAKT_CU_MEMORY_DEVICE &&
        c->driver.pointer(&ordinal, TAKT_CU_ORDINAL, ptr) == TAKT_CU_OK &&
        c->driver.range(&first, &all, ptr) == TAKT_CU_OK && ptr - first <= all) {
        *device = ordinal + 1;
        *bytes = all - (size_t)(ptr - first);
    }
    takt_cuda_leave(c);
}

const takt_device takt_cuda_memory = {.get = get,
                                      .put = put,
                                      .copy = copy,
                                      .memory = memory,
                                      .alignment = 256,
                                      .number = number,
                                      .look = look,
                                      .foreign_alignment = 16};
