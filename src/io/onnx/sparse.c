/* sparse.c - sparse initializers become dense tensors. */
#include <string.h>

#include "io/onnx/payload.h"

/* Position `i`: one flat index, or one per dimension. Positions must ascend. */
static takt_status place(takt_ctx *ctx, const takt_pb_sparse *s, const takt_tensor *indices,
                         size_t i, size_t *flat)
{
    const int64_t *at = takt_tensor_data(indices);
    const size_t width = indices->type.rank == 2 ? (size_t)indices->type.dim[1] : 1;
    int64_t total = 1, sum = 0;
    for (size_t d = 0; d < s->dim_count; d++)
        total *= s->dims[d];
    if (width == 1 && indices->type.rank == 1) {
        sum = at[i];
    } else {
        for (size_t d = 0; d < s->dim_count; d++) {
            const int64_t v = at[i * width + d];
            if (v < 0 || v >= s->dims[d])
                return takt_wire_fail(ctx, s->at, "index %lld of a sparse tensor is out of range",
                                      (long long)v);
            sum = sum * s->dims[d] + v;
        }
    }
    if (sum < 0 || sum >= total)
        return takt_wire_fail(ctx, s->at, "index %lld of a sparse tensor is out of range",
                              (long long)sum);
    if (i > 0 && (size_t)sum <= *flat)
        return takt_wire_fail(ctx, s->at, "the indices of a sparse tensor do not ascend");
    *flat = (size_t)sum;
    return TAKT_OK;
}

static takt_status fill(takt_ctx *ctx, const takt_pb_sparse *s, const takt_tensor *values,
                        const takt_tensor *indices, takt_tensor *out)
{
    const int bits = takt_dtype_bits(values->type.dtype);
    const size_t count = takt_tensor_count(values), size = (size_t)bits / 8;
    const int rank = indices->type.rank;
    if (indices->type.dtype != TAKT_I64 || rank < 1 || rank > 2 || bits < 8 ||
        (size_t)indices->type.dim[0] != count || values->type.rank != 1 ||
        (rank == 2 && (size_t)indices->type.dim[1] != s->dim_count))
        return takt_wire_fail(ctx, s->at, "values and indices of a sparse tensor do not fit");
    takt_type type = {.dtype = values->type.dtype, .rank = (int)s->dim_count};
    for (size_t d = 0; d < s->dim_count; d++)
        type.dim[d] = s->dims[d];
    size_t bytes;
    if (!takt_type_bytes(&type, &bytes) || bytes > ctx->limits.tensor_bytes)
        return takt_wire_fail(ctx, s->at, "a sparse tensor is too large");
    if (bytes == 0 && count > 0)
        return takt_wire_fail(ctx, s->at, "a sparse tensor without elements has values");
    TAKT_TRY(takt_tensor_create(ctx, &type, out));
    memset(takt_tensor_data(out), 0, bytes);
    size_t flat = 0;
    for (size_t i = 0; i < count; i++) {
        const takt_status status = place(ctx, s, indices, i, &flat);
        if (status != TAKT_OK) {
            takt_tensor_release(out);
            return status;
        }
        memcpy((char *)takt_tensor_data(out) + flat * size,
               (char *)takt_tensor_data(values) + i * size, size);
    }
    return TAKT_OK;
}

takt_status takt_onnx_sparse(const takt_source *source, const takt_pb_sparse *s, takt_tensor *out)
{
    takt_ctx *ctx = source->ctx;
    *out = (takt_tensor){0};
    if (s->values == NULL || s->indices == NULL || s->dim_count > TAKT_MAX_RANK)
        return takt_wire_fail(ctx, s->at, "a sparse tensor lacks values or indices");
    for (size_t i = 0; i < s->dim_count; i++)
        if (s->dims[i] < 0 || s->dims[i] > INT32_MAX)
            return takt_wire_fail(ctx, s->at, "a dimension of a sparse tensor is %lld",
                                  (long long)s->dims[i]);
    takt_tensor values, indices;
    TAKT_TRY(takt_onnx_tensor(source, s->values, &values));
    takt_status status = takt_onnx_tensor(source, s->indices, &indices);
    if (status == TAKT_OK)
        status = fill(ctx, s, &values, &indices, out);
    takt_tensor_release(&values);
    takt_tensor_release(&indices);
    return status;
}
