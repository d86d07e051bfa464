/* tensor.c - reference-counted bytes, and dense tensors in them. */
#include "ir/tensor.h"

#include <inttypes.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "ir/late.h"
#include "ir/storage.h"
#include "ir/storage_fields.h"

size_t takt_storage_overhead(void)
{
    return sizeof(takt_storage);
}

static takt_status create(takt_ctx *ctx, takt_storage **storage)
{
    void *block;
    *storage = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **storage, "a storage", &block));
    *storage = block;
    (*storage)->ctx = ctx;
    atomic_init(&(*storage)->references, 1);
    return TAKT_OK;
}

takt_status takt_storage_create(takt_ctx *ctx, size_t bytes, takt_storage **storage)
{
    takt_storage *s;
    *storage = NULL;
    TAKT_TRY(create(ctx, &s));
    const takt_status status = takt_mem_get(ctx, bytes, "tensor data", &s->data);
    if (status != TAKT_OK) {
        takt_mem_put(ctx, s, sizeof *s);
        return status;
    }
    s->bytes = bytes;
    s->room = bytes;
    *storage = s;
    return TAKT_OK;
}

takt_status takt_storage_borrow(takt_ctx *ctx, void *data, size_t bytes, void (*done)(void *user),
                                void *user, takt_storage **storage)
{
    TAKT_TRY(create(ctx, storage));
    (*storage)->data = data;
    (*storage)->bytes = bytes;
    (*storage)->is_borrowed = true;
    (*storage)->done = done;
    (*storage)->user = user;
    return TAKT_OK;
}

takt_storage *takt_storage_retain(takt_storage *storage)
{
    atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
    return storage;
}

void takt_storage_release(takt_storage *storage)
{
    if (storage == NULL ||
        atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) != 1)
        return;
    if (storage->is_shared)
        takt_storage_unshare(storage);
    if (!storage->is_borrowed)
        takt_mem_put(storage->ctx, storage->data, storage->room);
    else if (storage->done != NULL)
        storage->done(storage->user);
    takt_mem_put(storage->ctx, storage, sizeof *storage);
}

size_t takt_storage_room(const takt_storage *s)
{
    return s == NULL || s->is_borrowed || s->is_shared || atomic_load(&s->references) != 1
               ? 0
               : s->room;
}

bool takt_storage_is_held_by(const takt_storage *s, unsigned count)
{
    return s != NULL && !s->is_borrowed && !s->is_shared && atomic_load(&s->references) == count;
}

void takt_storage_reuse(takt_storage *storage, size_t bytes)
{
    storage->bytes = bytes;
}

takt_status takt_storage_trim(takt_storage **storage)
{
    takt_storage *old = *storage, *exact;
    if (takt_storage_room(old) <= (old == NULL ? 0 : old->bytes))
        return TAKT_OK;
    TAKT_TRY(takt_storage_create(old->ctx, old->bytes, &exact));
    memcpy(exact->data, old->data, old->bytes);
    takt_storage_release(old);
    *storage = exact;
    return TAKT_OK;
}

void *takt_storage_data(takt_storage *storage)
{
    if (takt_storage_is_late(storage) && takt_storage_settle(storage) != TAKT_OK)
        atomic_store(&storage->ctx->has_lost_bytes, true);
    return storage->data;
}

takt_status takt_tensor_create(takt_ctx *ctx, const takt_type *type, takt_tensor *out)
{
    size_t bytes;
    char text[TAKT_TYPE_TEXT];
    *out = (takt_tensor){.type = *type};
    if (!takt_type_is_concrete(type))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a tensor's type needs sizes, not names");
    if (!takt_type_bytes(type, &bytes) || bytes > ctx->limits.tensor_bytes)
        return takt_fail(ctx, TAKT_E_OVERFLOW,
                         "a tensor of type %s is larger than the limit of %" PRIu64 " bytes",
                         takt_type_text(NULL, type, text), ctx->limits.tensor_bytes);
    TAKT_TRY(takt_storage_create(ctx, bytes, &out->storage));
    /* Bits after the last element of 2 or 4 bits are never written, but digests read whole
     * bytes. */
    if (takt_dtype_bits(type->dtype) < 8 && bytes > 0)
        ((uint8_t *)takt_storage_data(out->storage))[bytes - 1] = 0;
    return TAKT_OK;
}

void takt_tensor_release(takt_tensor *tensor)
{
    takt_storage_release(tensor->storage);
    tensor->storage = NULL;
}

void *takt_tensor_data(const takt_tensor *tensor)
{
    return (char *)takt_storage_data(tensor->storage) + tensor->offset;
}

size_t takt_tensor_bytes(const takt_tensor *tensor)
{
    size_t bytes = 0;
    return takt_type_bytes(&tensor->type, &bytes) ? bytes : 0;
}

size_t takt_tensor_count(const takt_tensor *tensor)
{
    size_t count = 0;
    return takt_type_count(&tensor->type, &count) ? count : 0;
}
