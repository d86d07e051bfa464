/* sidecar.c - imported texts and tables of numbers, inside a model's folder. */
#include "io/takt/sidecar.h"

#include <string.h>

#include "base/mem.h"
#include "io/npy/npy.h"
#include "io/safetensors/safetensors.h"

static takt_status text(void *user, const char *path, void **bytes, size_t *length)
{
    return takt_read_beneath(user, path, bytes, length);
}

static takt_status copy(takt_ctx *ctx, const takt_type *type, const void *data, takt_tensor *out)
{
    TAKT_TRY(takt_tensor_create(ctx, type, out));
    const size_t bytes = takt_tensor_bytes(out);
    if (bytes > 0)
        memcpy(takt_tensor_data(out), data, bytes);
    return TAKT_OK;
}

static takt_status from_npy(takt_ctx *ctx, const char *path, const void *bytes, size_t length,
                            takt_tensor *out)
{
    takt_tensor_view view;
    TAKT_TRY(takt_npy_load_memory(ctx, path, bytes, length, &view));
    takt_type type = {.dtype = view.dtype, .rank = view.rank};
    for (int i = 0; i < view.rank; i++)
        type.dim[i] = view.dims[i];
    const takt_status status = copy(ctx, &type, view.data, out);
    takt_view_free(ctx, &view);
    return status;
}

static takt_status pick(takt_ctx *ctx, const char *path, const takt_weight_list *list,
                        const char *name, const takt_weight **out)
{
    if (name == NULL && list->count == 1) {
        *out = &list->at[0];
        return TAKT_OK;
    }
    if (name == NULL)
        return takt_fail(ctx, TAKT_E_IMPORT, "%s holds %zu tensors: say which one", path,
                         list->count);
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->at[i].name, name) == 0) {
            *out = &list->at[i];
            return TAKT_OK;
        }
    }
    return takt_fail(ctx, TAKT_E_IMPORT, "%s holds no tensor called %s", path, name);
}

static takt_status from_safetensors(takt_arena *arena, const char *path, const uint8_t *bytes,
                                    size_t length, const char *name, takt_tensor *out)
{
    takt_weight_list list;
    const takt_weight *found = NULL;
    TAKT_TRY(takt_safetensors_read(arena, path, bytes, length, &list));
    TAKT_TRY(pick(arena->ctx, path, &list, name, &found));
    return copy(arena->ctx, &found->type, bytes + found->offset, out);
}

static takt_status tensor(void *user, const char *path, const char *name, takt_tensor *out)
{
    const takt_source *source = user;
    takt_ctx *ctx = source->ctx;
    void *bytes;
    size_t length;
    *out = (takt_tensor){0};
    TAKT_TRY(takt_read_beneath(source, path, &bytes, &length));
    takt_arena arena;
    takt_arena_init(&arena, ctx);
    takt_status status;
    if (length >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0)
        status = name == NULL
                     ? from_npy(ctx, path, bytes, length, out)
                     : takt_fail(ctx, TAKT_E_IMPORT, "%s holds one array without a name", path);
    else if (takt_safetensors_recognises(bytes, length))
        status = from_safetensors(&arena, path, bytes, length, name, out);
    else
        status =
            takt_fail(ctx, TAKT_E_IMPORT, "%s is neither a .npy nor a .safetensors file", path);
    takt_arena_deinit(&arena);
    takt_mem_put(ctx, bytes, length);
    return status;
}

takt_parse_files takt_sidecar_files(const takt_source *source)
{
    /* The callbacks never write through it. */
    return (takt_parse_files){.user = (void *)(uintptr_t)source, .text = text, .tensor = tensor};
}
