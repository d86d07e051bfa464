/* load.c - bytes of each format loaded, over memory that is counted. */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "io/safetensors/safetensors.h"

meter load_meter;

const takt_allocator load_allocator = METER_ALLOCATOR(&load_meter);

takt_status load_onnx(takt_ctx *ctx, const void *bytes, size_t length)
{
    takt_model *m;
    const takt_status status = takt_model_load_memory(ctx, "seed", bytes, length, NULL, &m);
    takt_model_destroy(m);
    return status;
}

takt_status load_safetensors(takt_ctx *ctx, const void *bytes, size_t length)
{
    takt_arena arena;
    takt_weight_list list;
    takt_arena_init(&arena, ctx);
    const takt_status status = takt_safetensors_read(&arena, "seed", bytes, length, &list);
    takt_arena_deinit(&arena);
    return status;
}

takt_status load_npy(takt_ctx *ctx, const void *bytes, size_t length)
{
    takt_tensor_view v;
    const takt_status status = takt_npy_load_memory(ctx, "seed", bytes, length, &v);
    takt_view_free(ctx, &v);
    return status;
}

takt_status load_json(takt_ctx *ctx, const void *bytes, size_t length)
{
    takt_arena arena;
    const takt_json *root;
    takt_arena_init(&arena, ctx);
    const takt_status status = takt_json_parse(ctx, &arena, bytes, length, &root);
    takt_arena_deinit(&arena);
    return status;
}

unsigned char *load_file(const char *path, size_t most, size_t *length)
{
    FILE *f = fopen(path, "rb");
    *length = 0;
    if (f == NULL)
        return NULL;
    unsigned char *room = malloc(most), *exact = NULL;
    *length = fread(room, 1, most, f);
    fclose(f);
    if (*length < most) {
        exact = malloc(*length + 1);
        memcpy(exact, room, *length);
    }
    free(room);
    return exact;
}
