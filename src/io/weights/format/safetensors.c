/* safetensors.c - tensors of a safetensors file. */
#include "base/mem.h"
#include "io/read.h"
#include "io/weights/format.h"

/* The header; bytes of tensors are fetched. */
takt_status takt_weights_skim_safetensors(takt_skim *s)
{
    const size_t data = takt_safetensors_data(s->bytes, s->have, s->length);
    TAKT_TRY(takt_skim_need(s, data));
    return takt_skim_leave(s, data, s->length);
}

static takt_status each(takt_weights_reader *r, const uint8_t *bytes, size_t length)
{
    takt_weight_list list;
    TAKT_TRY(takt_weights_list(r, r->path, bytes, length, &list));
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
                                                      .skim = takt_weights_skim_safetensors,
                                                      .each = each,
                                                      .ending = ".safetensors",
                                                      .save = takt_weights_save_safetensors};
