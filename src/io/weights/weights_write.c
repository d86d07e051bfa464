/* weights_write.c - writes tensors by name in the format of the file's suffix. */
#include <stdio.h>
#include <string.h>

#include "io/weights/format.h"

const takt_weights_format *takt_weights_by_ending(const char *path)
{
    const size_t n = strlen(path);
    for (size_t i = 0; i < takt_weights_format_count; i++) {
        const takt_weights_format *f = takt_weights_formats[i];
        const size_t k = f->ending != NULL ? strlen(f->ending) : SIZE_MAX;
        if (n >= k && strcmp(path + n - k, f->ending) == 0)
            return f;
    }
    return NULL;
}

bool takt_weights_ending(const char *path)
{
    return takt_weights_by_ending(path) != NULL;
}

void takt_weights_endings(char *to, size_t size)
{
    size_t count = 0, at = 0, done = 0;
    for (size_t i = 0; i < takt_weights_format_count; i++)
        count += takt_weights_formats[i]->ending != NULL;
    for (size_t i = 0; i < takt_weights_format_count && at < size; i++) {
        if (takt_weights_formats[i]->ending == NULL)
            continue;
        const char *before = done == 0 ? "" : done + 1 == count ? " or " : ", ";
        const int length =
            snprintf(to + at, size - at, "%s%s", before, takt_weights_formats[i]->ending);
        at += length > 0 ? (size_t)length : 0;
        done++;
    }
}

takt_tensor_view takt_weights_view(const takt_tensor *t)
{
    takt_tensor_view v = {
        .dtype = t->type.dtype, .rank = t->type.rank, .data = takt_tensor_data(t)};
    for (int d = 0; d < t->type.rank; d++)
        v.dims[d] = t->type.dim[d];
    return v;
}

takt_status takt_weights_save(takt_ctx *ctx, const char *path, const takt_named_tensor *tensors,
                              size_t count, uint64_t shard_bytes)
{
    const takt_weights_format *format = takt_weights_by_ending(path);
    const takt_weights_set set = {tensors, count, shard_bytes};
    return format != NULL ? format->save(ctx, path, &set)
                          : takt_weights_save_safetensors(ctx, path, &set);
}
