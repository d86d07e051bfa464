/* file.c - files through the context: whole ones, parts of them, and their error messages. */
#include "io/file.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "os/os.h"

takt_status takt_fail_file(takt_ctx *ctx, takt_error_id id, const char *path, const char *what,
                           int error)
{
    char reason[128];
    takt_os_reason(error, reason, sizeof reason);
    const takt_status status = takt_fail(ctx, id, "cannot %s %s: %s", what, path, reason);
    if (error == ENOSPC || error == EDQUOT)
        return takt_fail_hint(ctx, "free some space, or write to another place");
    if (id != TAKT_E_FILE_OPEN || strcmp(path, "-") != 0)
        return status;
    return takt_fail_hint(ctx, "standard input is not read; a regular file is needed");
}

takt_status takt_file_length(takt_ctx *ctx, const char *path, takt_file *file, size_t *length)
{
    uint64_t size = 0;
    *length = 0;
    const int error = ctx->files.size(ctx->files.user, file, &size);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_READ, path, "read", error);
    if (size > ctx->limits.file_bytes || size > SIZE_MAX)
        return takt_fail(ctx, TAKT_E_FILE_SIZE, "%s has %llu bytes, the limit is %llu", path,
                         (unsigned long long)size, (unsigned long long)ctx->limits.file_bytes);
    *length = (size_t)size;
    return TAKT_OK;
}

takt_status takt_file_part(takt_ctx *ctx, const char *path, takt_file *file, uint64_t offset,
                           void *to, size_t count)
{
    size_t done = 0;
    const int error = ctx->files.read(ctx->files.user, file, offset, to, count, &done);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_READ, path, "read", error);
    if (done == count)
        return TAKT_OK;
    return takt_fail(ctx, TAKT_E_FILE_READ, "%s became shorter while it was read", path);
}

takt_status takt_file_stamp(takt_ctx *ctx, const char *path, takt_file *file, uint64_t *stamp)
{
    *stamp = 0;
    const int error = ctx->files.stamp != NULL ? ctx->files.stamp(ctx->files.user, file, stamp) : 0;
    return error == 0 ? TAKT_OK : takt_fail_file(ctx, TAKT_E_FILE_READ, path, "read", error);
}

takt_status takt_file_same_part(takt_ctx *ctx, const takt_stamped_file *from, uint64_t offset,
                                void *to, size_t count)
{
    uint64_t stamp;
    TAKT_TRY(takt_file_part(ctx, from->path, from->file, offset, to, count));
    TAKT_TRY(takt_file_stamp(ctx, from->path, from->file, &stamp)); /* of what was just read */
    if (stamp == from->stamp)
        return TAKT_OK;
    (void)takt_fail(ctx, TAKT_E_FILE_CHANGED, "%s was overwritten after it was opened", from->path);
    return takt_fail_hint(ctx, "load the model again");
}

takt_status takt_file_whole(takt_ctx *ctx, const char *path, takt_file *file, void **bytes,
                            size_t *length)
{
    *bytes = NULL;
    TAKT_TRY(takt_file_length(ctx, path, file, length));
    TAKT_TRY(takt_mem_get(ctx, *length, "file", bytes));
    const takt_status status = takt_file_part(ctx, path, file, 0, *bytes, *length);
    if (status == TAKT_OK)
        return TAKT_OK;
    takt_mem_put(ctx, *bytes, *length);
    *bytes = NULL;
    *length = 0;
    return status;
}

int takt_file_refusal(takt_ctx *ctx, const char *path)
{
    takt_file *file;
    const int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error == 0)
        ctx->files.close(ctx->files.user, file);
    return error;
}

takt_status takt_read_file(takt_ctx *ctx, const char *path, void **bytes, size_t *length)
{
    takt_file *file;
    *bytes = NULL;
    *length = 0;
    const int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error);
    const takt_status status = takt_file_whole(ctx, path, file, bytes, length);
    ctx->files.close(ctx->files.user, file);
    return status;
}

int takt_create_private(takt_ctx *ctx, const char *path, takt_file **file)
{
    const takt_files *files = &ctx->files;
    return (files->create_private != NULL ? files->create_private : files->create)(files->user,
                                                                                   path, file);
}

static takt_status write_as(takt_ctx *ctx, const char *path, const void *bytes, size_t length,
                            bool is_private)
{
    takt_file *file;
    int error = is_private ? takt_create_private(ctx, path, &file)
                           : ctx->files.create(ctx->files.user, path, &file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_WRITE, path, "write", error);
    error = ctx->files.write(ctx->files.user, file, bytes, length);
    if (error == 0)
        error = ctx->files.commit(ctx->files.user, file);
    ctx->files.close(ctx->files.user, file);
    return error == 0 ? TAKT_OK : takt_fail_file(ctx, TAKT_E_FILE_WRITE, path, "write", error);
}

takt_status takt_write_file(takt_ctx *ctx, const char *path, const void *bytes, size_t length)
{
    return write_as(ctx, path, bytes, length, false);
}

takt_status takt_write_private(takt_ctx *ctx, const char *path, const void *bytes, size_t length)
{
    return write_as(ctx, path, bytes, length, true);
}

takt_status takt_write_text(takt_ctx *ctx, const char *path, const takt_text *text)
{
    TAKT_TRY(text->status);
    return takt_write_file(ctx, path, takt_text_get(text), text->length);
}
