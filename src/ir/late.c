/* late.c - pages that are reserved at once, and filled by the first who asks. */
#include "ir/late.h"

#include <string.h>

#include "base/count.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ir/storage_fields.h"
#include "os/futex.h"
#include "os/memory.h"

typedef struct late_bytes {
    takt_ctx *ctx;
    takt_late from; /* all NULL: zeros */
    void *at;       /* untouched pages take no memory */
    size_t bytes, counted;
    _Atomic uint32_t is_read; /* by a thread, for which others sleep */
    takt_futex futex;
} late_bytes;

/* Reading takes long, so nobody spins. */
static void begin_read(late_bytes *l)
{
    while (atomic_exchange(&l->is_read, 1) == 1)
        takt_futex_wait(&l->futex, &l->is_read, 1);
}

static void end_read(late_bytes *l)
{
    atomic_store(&l->is_read, 0);
    takt_futex_wake(&l->futex, &l->is_read, 1);
}

static void put(void *user)
{
    late_bytes *l = user;
    takt_ctx *ctx = l->ctx;
    takt_pages_put(l->at, l->bytes);
    takt_futex_deinit(&l->futex);
    takt_count_less(ctx, l->counted);
    if (l->from.done != NULL)
        l->from.done(l->from.user);
    takt_mem_put(ctx, l, sizeof *l);
}

takt_status takt_storage_create_late(takt_ctx *ctx, size_t bytes, const takt_late *late,
                                     takt_storage **storage)
{
    void *block;
    *storage = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(late_bytes), "a storage", &block));
    late_bytes *l = block;
    *l = (late_bytes){.ctx = ctx, .from = *late, .bytes = bytes};
    if (takt_futex_init(&l->futex) != 0) {
        takt_mem_put(ctx, l, sizeof *l);
        return takt_fail_memory(ctx, "a storage", sizeof *l);
    }
    takt_status status =
        takt_pages_get(bytes, &l->at) == 0 ? TAKT_OK : takt_fail_memory(ctx, "tensor data", bytes);
    if (status == TAKT_OK)
        status = takt_storage_borrow(ctx, l->at, bytes, put, l, storage);
    if (status != TAKT_OK) {
        takt_pages_put(l->at, bytes);
        takt_futex_deinit(&l->futex);
        takt_mem_put(ctx, l, sizeof *l);
        return status;
    }
    atomic_init(&(*storage)->is_late, true);
    return TAKT_OK;
}

takt_status takt_storage_create_zeros(takt_ctx *ctx, size_t bytes, takt_storage **storage)
{
    return takt_storage_create_late(ctx, bytes, &(takt_late){.read = NULL}, storage);
}

bool takt_storage_is_late(takt_storage *s)
{
    return s != NULL && atomic_load_explicit(&s->is_late, memory_order_acquire);
}

bool takt_storage_began_late(const takt_storage *s)
{
    return s != NULL && s->done == put;
}

size_t takt_storage_bytes(const takt_storage *s)
{
    return s->bytes;
}

size_t takt_storage_grain(takt_storage *s)
{
    return takt_storage_is_late(s) ? ((const late_bytes *)s->user)->from.grain : 0;
}

static takt_status read_to(const late_bytes *l, size_t first, size_t count, void *to)
{
    if (l->from.read != NULL)
        return l->from.read(l->from.user, first, count, to);
    if (to != l->at) /* whose pages are zeros */
        memset(to, 0, count);
    return TAKT_OK;
}

static takt_status fill(late_bytes *l)
{
    uint64_t live;
    if (!takt_count_more(l->ctx, l->bytes, &live))
        return takt_fail_memory(l->ctx, "tensor data", l->bytes);
    takt_count_peak(l->ctx, live);
    const takt_status status = read_to(l, 0, l->bytes, l->at);
    if (status == TAKT_OK) {
        l->counted = l->bytes;
        return TAKT_OK;
    }
    takt_count_less(l->ctx, l->bytes);
    memset(l->at, 0, l->bytes);
    (void)takt_pages_drop(l->at, l->bytes);
    return status;
}

takt_status takt_storage_settle(takt_storage *s)
{
    if (!takt_storage_is_late(s))
        return TAKT_OK;
    late_bytes *l = s->user;
    begin_read(l);
    const takt_status status = takt_storage_is_late(s) ? fill(l) : TAKT_OK;
    if (status == TAKT_OK) {
        s->room = s->bytes;
        atomic_store_explicit(&s->is_late, false, memory_order_release);
    }
    end_read(l);
    return status;
}

takt_status takt_late_check(takt_ctx *ctx)
{
    if (!atomic_load(&ctx->has_lost_bytes))
        return TAKT_OK;
    (void)takt_fail(ctx, TAKT_E_FILE_READ,
                    "weights could not be read again: their file has changed, or memory is short");
    return takt_fail_hint(ctx, "load the model again, with a context of its own");
}

takt_status takt_storage_copy_part(takt_storage *s, size_t first, size_t count, void *to)
{
    if (takt_storage_is_late(s))
        return read_to(s->user, first, count, to);
    memcpy(to, (const char *)s->data + first, count);
    return TAKT_OK;
}

takt_status takt_storage_copy(takt_storage *s, void *to)
{
    return takt_storage_copy_part(s, 0, s->bytes, to);
}

uint64_t takt_tensor_hash(const takt_tensor *t, uint64_t h)
{
    void *copy;
    takt_storage *s = t->storage;
    const size_t bytes = takt_tensor_bytes(t);
    if (!takt_storage_is_late(s) || takt_mem_get(s->ctx, s->bytes, "a digest", &copy) != TAKT_OK)
        return takt_hash_bytes(h, takt_tensor_data(t), bytes);
    if (takt_storage_copy(s, copy) == TAKT_OK)
        h = takt_hash_bytes(h, (const char *)copy + t->offset, bytes);
    else
        atomic_store(&s->ctx->has_lost_bytes, true);
    takt_mem_put(s->ctx, copy, s->bytes);
    return h;
}

const void *takt_tensor_address(const takt_tensor *t)
{
    return (const char *)t->storage->data + t->offset;
}
