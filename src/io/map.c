/* map.c - files as storages, and tensors inside them. */
#include "io/map.h"

#include "base/mem.h"
#include "io/file.h"
#include "ir/dtype.h"

typedef struct mapping {
    takt_ctx *ctx;
    const void *data;
    size_t bytes;
} mapping;

static void put(void *user)
{
    mapping *m = user;
    takt_ctx *ctx = m->ctx;
    ctx->files.unmap(ctx->files.user, m->data, m->bytes);
    takt_mem_put(ctx, m, sizeof *m);
}

static takt_status map(takt_ctx *ctx, const char *path, takt_file *file, size_t length,
                       takt_storage **storage)
{
    void *record;
    TAKT_TRY(takt_mem_get(ctx, sizeof(mapping), "file", &record));
    mapping *m = record;
    *m = (mapping){.ctx = ctx, .bytes = length};
    const int error = ctx->files.map(ctx->files.user, file, length, &m->data);
    if (error != 0) {
        takt_mem_put(ctx, m, sizeof *m);
        return takt_fail_file(ctx, TAKT_E_FILE_READ, path, "map", error);
    }
    const takt_status status =
        takt_storage_borrow(ctx, (void *)(uintptr_t)m->data, length, put, m, storage);
    if (status != TAKT_OK)
        put(m);
    return status;
}

takt_status takt_map_file(takt_ctx *ctx, const char *path, takt_storage **storage, size_t *length)
{
    takt_file *file;
    *storage = NULL;
    *length = 0;
    if (ctx->files.map == NULL || ctx->files.unmap == NULL) {
        takt_log(ctx, TAKT_LOG_INFO, "%s is read: these files cannot be mapped", path);
        return TAKT_OK;
    }
    const int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error);
    takt_status status = takt_file_length(ctx, path, file, length);
    if (status == TAKT_OK && *length > 0)
        status = map(ctx, path, file, *length, storage);
    ctx->files.close(ctx->files.user, file);
    return status;
}

bool takt_map_tensor(takt_storage *storage, size_t length, const takt_type *type, const void *at,
                     takt_tensor *tensor)
{
    const uintptr_t base = storage != NULL ? (uintptr_t)takt_storage_data(storage) : 0;
    const size_t align = (size_t)(takt_dtype_bits(type->dtype) + 7) / 8;
    size_t bytes;
    if (storage == NULL || (uintptr_t)at < base || !takt_type_bytes(type, &bytes) ||
        type->dtype == TAKT_BOOL) /* their bytes must be checked, and may be invalid */
        return false;
    const size_t offset = (size_t)((uintptr_t)at - base);
    if (offset > length || bytes > length - offset || (uintptr_t)at % (align > 0 ? align : 1) != 0)
        return false;
    *tensor =
        (takt_tensor){.type = *type, .storage = takt_storage_retain(storage), .offset = offset};
    return true;
}
