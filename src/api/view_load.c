/* view_load.c - a tensor from a file of any supported format, and its elements one by one. */
#include <math.h>
#include <string.h>

#include <takt/array.h>

#include "base/mem.h"
#include "io/npy/npy.h"
#include "io/onnx/payload.h"

/* A file that is not a tensor may be test data of another kind, which only the model can
 * identify. */
static takt_status blame_kind(takt_ctx *ctx, takt_arena *arena, const char *path, const void *bytes,
                              size_t length, takt_status status)
{
    takt_pb_sequence s;
    takt_error error;
    takt_error_copy(ctx, &error);
    if (status == TAKT_ERR_MEMORY)
        return status;
    if (takt_pb_read_sequence(arena, bytes, length, &s) != TAKT_OK ||
        s.tensor_count + s.sequence_count + s.optional_count == 0) {
        ctx->error = error;
        return status;
    }
    (void)takt_fail(ctx, TAKT_E_FILE_KIND, "%s holds a sequence or an optional, not a tensor",
                    path);
    return takt_fail_hint(ctx, "`takt run MODEL --test FOLDER` reads them");
}

/* A file of test data is one TensorProto. */
static takt_status load_pb(takt_ctx *ctx, const char *path, const void *bytes, size_t length,
                           takt_tensor_view *view)
{
    takt_arena arena;
    takt_pb_tensor tensor;
    takt_tensor made = {0};
    const takt_source source = {.ctx = ctx, .name = path};
    takt_arena_init(&arena, ctx);
    takt_status status = takt_pb_read_tensor(&arena, bytes, length, &tensor);
    if (status == TAKT_OK)
        status = takt_onnx_tensor(&source, &tensor, &made);
    if (status != TAKT_OK)
        status = blame_kind(ctx, &arena, path, bytes, length, status);
    takt_arena_deinit(&arena);
    TAKT_TRY(status);
    *view = (takt_tensor_view){.dtype = made.type.dtype, .rank = made.type.rank};
    for (int d = 0; d < made.type.rank; d++)
        view->dims[d] = made.type.dim[d];
    status = takt_view_alloc(ctx, view);
    if (status == TAKT_OK && takt_tensor_bytes(&made) > 0)
        memcpy(view->data, takt_tensor_data(&made), takt_tensor_bytes(&made));
    takt_tensor_release(&made);
    return status;
}

/* A tensor's message begins with its shape or, for a scalar, its element type. */
static bool is_pb(const uint8_t *bytes, size_t length)
{
    return length > 2 && (bytes[0] == 0x08 || bytes[0] == 0x0A || bytes[0] == 0x10);
}

static takt_status load(takt_ctx *ctx, const char *path, const char *member, bool keeps_order,
                        takt_tensor_view *view)
{
    void *bytes;
    size_t length;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, view);
    *view = (takt_tensor_view){.data = NULL};
    TAKT_NEED(ctx, path);
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_status status;
    if (length >= 2 && memcmp(bytes, "PK", 2) == 0)
        status = takt_npz_load(ctx, path, member, view);
    else if (is_pb(bytes, length))
        status = load_pb(ctx, path, bytes, length, view);
    else
        status = takt_npy_read_memory(ctx, path, (takt_span){bytes, length}, keeps_order, view);
    takt_mem_put(ctx, bytes, length);
    return status;
}

takt_status takt_view_load(takt_ctx *ctx, const char *path, const char *member,
                           takt_tensor_view *view)
{
    return load(ctx, path, member, false, view);
}

takt_status takt_view_load_ordered(takt_ctx *ctx, const char *path, const char *member,
                                   takt_tensor_view *view)
{
    return load(ctx, path, member, true, view);
}

double takt_view_element(const takt_tensor_view *view, size_t index)
{
    size_t count = 1;
    if (view == NULL || view->rank < 0 || view->rank > TAKT_MAX_RANK)
        return NAN;
    for (int d = 0; d < view->rank; d++)
        count *= (size_t)view->dims[d];
    if (view->data == NULL || index >= count || view->dtype >= TAKT_DTYPE_COUNT)
        return NAN;
    return takt_dtype_is_float(view->dtype)
               ? takt_dtype_get_f(view->dtype, view->data, index)
               : takt_dtype_to_double(view->dtype,
                                      takt_dtype_get_i(view->dtype, view->data, index));
}
