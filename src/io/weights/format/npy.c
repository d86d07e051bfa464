/* npy.c - the one tensor of an .npy file. */
#include "io/npy/npy.h"
#include "base/mem.h"
#include "io/weights/format.h"

static bool recognises(const uint8_t *bytes, size_t length)
{
    return takt_weights_starts(bytes, length, "\x93NUMPY");
}

/* An array without a name is named after its file. */
static takt_status each(takt_weights_reader *r, const uint8_t *bytes, size_t length)
{
    const char *slash = strrchr(r->path, '/'), *stem = slash != NULL ? slash + 1 : r->path;
    const char *dot = strrchr(stem, '.');
    const char *name =
        takt_arena_text(&r->arena, stem, dot != NULL ? (size_t)(dot - stem) : strlen(stem));
    takt_tensor_view view;
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_npy_load_memory(r->ctx, r->path, bytes, length, &view));
    const takt_status status = takt_weights_visit(r, name, &view);
    takt_view_free(r->ctx, &view);
    return status;
}

static takt_status save(takt_ctx *ctx, const char *path, const takt_weights_set *set)
{
    if (set->count != 1)
        return takt_fail(ctx, TAKT_E_WEIGHTS, "%s: an .npy file holds one array, there are %zu",
                         path, set->count);
    const takt_tensor_view view = takt_weights_view(set->tensors[0].tensor);
    return takt_npy_save(ctx, path, &view);
}

const takt_weights_format takt_weights_npy = {
    .name = "npy", .recognises = recognises, .each = each, .ending = ".npy", .save = save};
