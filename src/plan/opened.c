/* opened.c - what backends opened, kept by the context: a library or a device is opened once, not
 * once per plan. */
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "plan/backend.h"

typedef struct takt_opened {
    struct takt_opened *next;
    const takt_backend *backend;
    void *state;
    int threads;
    size_t bytes; /* of this record */
    bool is_any;  /* `which` was NULL */
    char which[];
} takt_opened;

static takt_opened *find(takt_opened *o, const takt_backend *backend, const char *which,
                         int threads)
{
    while (o != NULL && (o->backend != backend || o->threads != threads ||
                         o->is_any != (which == NULL) || strcmp(o->which, which ? which : "") != 0))
        o = o->next;
    return o;
}

static void drop(takt_ctx *ctx, takt_opened *o)
{
    if (o->backend->close != NULL)
        o->backend->close(ctx, o->state);
    takt_mem_put(ctx, o, o->bytes);
}

/* Opening is slow, so it is done without the lock; if two threads open it, the second drops its
 * own. */
static takt_status open_new(takt_ctx *ctx, const takt_backend *backend, const char *which,
                            int threads, void **state)
{
    void *block;
    const size_t length = which != NULL ? strlen(which) : 0,
                 bytes = sizeof(takt_opened) + length + 1;
    TAKT_TRY(takt_mem_zero(ctx, 1, bytes, "backend", &block));
    takt_opened *own = block;
    *own = (takt_opened){
        .backend = backend, .threads = threads, .bytes = bytes, .is_any = which == NULL};
    if (length > 0)
        memcpy(own->which, which, length);
    const takt_status status = backend->open(ctx, which, threads, &own->state);
    if (status != TAKT_OK) {
        takt_mem_put(ctx, own, bytes);
        return status;
    }
    takt_lock_take(&ctx->opened_lock);
    takt_opened *other = find(ctx->opened, backend, which, threads);
    if (other == NULL) {
        own->next = ctx->opened;
        ctx->opened = own;
    }
    takt_lock_give(&ctx->opened_lock);
    *state = other != NULL ? other->state : own->state;
    if (other != NULL)
        drop(ctx, own);
    return TAKT_OK;
}

takt_status takt_opened_get(takt_ctx *ctx, const takt_backend *backend, const char *which,
                            int threads, void **state)
{
    *state = NULL;
    if (backend->open == NULL)
        return TAKT_OK;
    takt_lock_take(&ctx->opened_lock);
    const takt_opened *known = find(ctx->opened, backend, which, threads);
    takt_lock_give(&ctx->opened_lock);
    if (known == NULL)
        return open_new(ctx, backend, which, threads, state);
    *state = known->state;
    return TAKT_OK;
}

takt_status takt_space_get(takt_ctx *ctx, const takt_plan_space *space, const char *what,
                           size_t bytes, void **data)
{
    const takt_device *device = space->backend->device;
    uint64_t total = 0, free = 0;
    const takt_status status = device->get(space->device, bytes, data);
    if (status == TAKT_OK)
        return TAKT_OK;
    if (device->memory == NULL)
        return takt_fail(ctx, TAKT_E_DEVICE_MEMORY, "%s: %zu bytes of %s's memory cannot be had",
                         what, bytes, space->backend->name);
    device->memory(space->device, &total, &free);
    return takt_fail(ctx, TAKT_E_DEVICE_MEMORY,
                     "%s: %zu bytes of %s's memory cannot be had: %llu of %llu are free", what,
                     bytes, space->backend->name, (unsigned long long)free,
                     (unsigned long long)total);
}

void takt_opened_close(takt_ctx *ctx)
{
    for (takt_opened *o = ctx->opened, *next; o != NULL; o = next) {
        next = o->next;
        drop(ctx, o);
    }
    ctx->opened = NULL;
}
