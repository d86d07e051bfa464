/* safetensors.c - tensors of a safetensors file. */
#include "base/mem.h"
#include "io/read.h"
#include "io/weights/format.h"

static takt_status each(takt_weights_reader *r, const uint8_t *bytes, size_t length)
{
    takt_weight_list list;
    TAKT_TRY(takt_safetensors_read(&r->arena, r->path, bytes, length, &list));
    for (size_t i = 0; i < list.count; i++)
        TAKT_TRY(takt_weights_visit_bytes(r, r->path, &list.at[i], bytes));
    return TAKT_OK;
}

takt_status takt_weights_save_safetensors(takt_ctx *ctx, const char *path,
                                          const takt_weights_set *set)
{
    void *bytes;
    size_t length;
    TAKT_TRY(takt_safetensors_write(ctx, set->tensors, set->count, &bytes, &length));
    const takt_status status = takt_write_file(ctx, path, bytes, length);
    takt_mem_put(ctx, bytes, length);
    return status;
}

const takt_weights_format takt_weights_safetensors = {.name = "safetensors",
                                                      .recognises = takt_safetensors_recognises,
                                                      .each = each,
                                                      .ending = ".safetensors",
                                                      .save = takt_weights_save_safetensors};
