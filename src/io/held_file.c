/* held_file.c - counts the readers of a file. */
#include "io/held_file.h"

#include <string.h>

#include "base/mem.h"

takt_status takt_hold_file(takt_ctx *ctx, const takt_stamped_file *file, takt_held_file **held)
{
    const size_t length = strlen(file->path) + 1, bytes = sizeof **held + length;
    void *block;
    *held = NULL;
    TAKT_TRY(takt_mem_zero(ctx, bytes, 1, "file", &block));
    takt_held_file *h = block;
    h->ctx = ctx;
    h->file = file->file;
    h->stamp = file->stamp;
    h->block = bytes;
    atomic_init(&h->references, 1);
    memcpy(h->path, file->path, length);
    *held = h;
    return TAKT_OK;
}

takt_status takt_held_file_read(const takt_held_file *h, uint64_t offset, void *to, size_t count)
{
    const takt_stamped_file from = {h->file, h->path, h->stamp};
    return takt_file_same_part(h->ctx, &from, offset, to, count);
}

takt_held_file *takt_held_file_retain(takt_held_file *h)
{
    atomic_fetch_add_explicit(&h->references, 1, memory_order_relaxed);
    return h;
}

void takt_held_file_release(takt_held_file *h)
{
    if (atomic_fetch_sub_explicit(&h->references, 1, memory_order_acq_rel) != 1)
        return;
    takt_ctx *ctx = h->ctx;
    ctx->files.close(ctx->files.user, h->file);
    takt_mem_put(ctx, h, h->block);
}
