/* weights_write.c - tensors by name into a file of the kind that its name says. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "io/npy/npy.h"
#include "io/read.h"
#include "io/weights/weights.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

bool takt_weights_ending(const char *path)
{
    return ends_with(path, ".safetensors") || ends_with(path, ".npz") || ends_with(path, ".npy") ||
           ends_with(path, ".index.json");
}

static takt_tensor_view view_of(const takt_tensor *t)
{
    takt_tensor_view v = {
        .dtype = t->type.dtype, .rank = t->type.rank, .data = takt_tensor_data(t)};
    for (int d = 0; d < t->type.rank; d++)
        v.dims[d] = t->type.dim[d];
    return v;
}

static takt_status save_safetensors(takt_ctx *ctx, const char *path, const takt_named_tensor *t,
                                    size_t count)
{
    void *bytes;
    size_t length;
    TAKT_TRY(takt_safetensors_write(ctx, t, count, &bytes, &length));
    const takt_status status = takt_write_file(ctx, path, bytes, length);
    takt_mem_put(ctx, bytes, length);
    return status;
}

static takt_status save_npz(takt_ctx *ctx, const char *path, const takt_named_tensor *t,
                            size_t count)
{
    takt_arena arena;
    takt_arena_init(&arena, ctx);
    const char **names = takt_arena_array(&arena, count + 1, sizeof *names);
    takt_tensor_view *views = takt_arena_array(&arena, count + 1, sizeof *views);
    takt_status status = names != NULL && views != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < count; i++) {
        names[i] = t[i].name;
        views[i] = view_of(t[i].tensor);
    }
    if (status == TAKT_OK)
        status = takt_npz_save(ctx, path, names, views, count);
    takt_arena_deinit(&arena);
    return status;
}

static takt_status save_npy(takt_ctx *ctx, const char *path, const takt_named_tensor *t,
                            size_t count)
{
    if (count != 1)
        return takt_fail(ctx, TAKT_E_WEIGHTS, "%s: an .npy file holds one array, there are %zu",
                         path, count);
    const takt_tensor_view view = view_of(t[0].tensor);
    return takt_npy_save(ctx, path, &view);
}

/* ---- in parts ---- */

/* First tensor after the part that begins at `from`. */
static size_t part_end(const takt_named_tensor *t, size_t count, size_t from, uint64_t most)
{
    uint64_t sum = 0;
    size_t i = from;
    for (; i < count; i++) {
        sum += takt_tensor_bytes(t[i].tensor);
        if (sum > most && i > from)
            break;
    }
    return i;
}

/* "m.safetensors.index.json": the parts are m-00001-of-00002.safetensors. */
static size_t stem_of(const char *path)
{
    const size_t length = strlen(path) - strlen(".index.json");
    const size_t tail = strlen(".safetensors");
    return length >= tail && strncmp(path + length - tail, ".safetensors", tail) == 0
               ? length - tail
               : length;
}

static takt_status save_parts(takt_ctx *ctx, const char *path, const takt_named_tensor *t,
                              size_t count, uint64_t most, takt_json_writer *json)
{
    size_t parts = 0, part = 0;
    for (size_t i = 0; i < count; i = part_end(t, count, i, most))
        parts++;
    for (size_t i = 0, end; i < count; i = end) {
        char name[1200];
        end = part_end(t, count, i, most);
        const int length = snprintf(name, sizeof name, "%.*s-%05zu-of-%05zu.safetensors",
                                    (int)stem_of(path), path, ++part, parts);
        if (length < 0 || (size_t)length >= sizeof name)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "the path %.100s... is too long", path);
        TAKT_TRY(save_safetensors(ctx, name, t + i, end - i));
        const char *slash = strrchr(name, '/');
        for (size_t k = i; k < end; k++) {
            takt_json_put_string(json, t[k].name, slash != NULL ? slash + 1 : name);
        }
    }
    return TAKT_OK;
}

/* The index comes last: what it names is there. */
static takt_status save_index(takt_ctx *ctx, const char *path, const takt_named_tensor *t,
                              size_t count, uint64_t most)
{
    takt_text text;
    takt_json_writer json;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += takt_tensor_bytes(t[i].tensor);
    takt_text_init(&text, ctx);
    takt_json_begin(&json, &text, true);
    takt_json_open(&json, '{');
    takt_json_put_open(&json, "metadata", '{');
    takt_json_put_unsigned(&json, "total_size", total);
    takt_json_close(&json, '}');
    takt_json_put_open(&json, "weight_map", '{');
    takt_status status = save_parts(ctx, path, t, count, most, &json);
    takt_json_close(&json, '}');
    takt_json_close(&json, '}');
    if (status == TAKT_OK)
        status = takt_write_text(ctx, path, &text);
    takt_text_deinit(&text);
    return status;
}

takt_status takt_weights_save(takt_ctx *ctx, const char *path, const takt_named_tensor *tensors,
                              size_t count, uint64_t shard_bytes)
{
    if (ends_with(path, ".index.json"))
        return save_index(ctx, path, tensors, count,
                          shard_bytes != 0 ? shard_bytes : UINT64_C(5000000000));
    if (ends_with(path, ".npz"))
        return save_npz(ctx, path, tensors, count);
    if (ends_with(path, ".npy"))
        return save_npy(ctx, path, tensors, count);
    return save_safetensors(ctx, path, tensors, count);
}
