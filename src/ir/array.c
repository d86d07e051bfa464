/* array.c - values of the interpreter: creating, freeing, and copying to and from packed memory. */
#include "ir/array.h"

#include <string.h>

#include "base/mem.h"
#include "base/size.h"

takt_status takt_array_create(takt_ctx *ctx, const takt_type *type, takt_array *out)
{
    void *block;
    size_t count;
    char text[TAKT_TYPE_TEXT];
    *out = (takt_array){.dtype = type->dtype, .rank = type->rank};
    if (!takt_type_count(type, &count))
        return takt_fail(ctx, TAKT_E_OVERFLOW, "a value of type %s has no size or too large a one",
                         takt_type_text(NULL, type, text));
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof(double), "a value of the interpreter", &block));
    memcpy(out->dim, type->dim, (size_t)type->rank * sizeof out->dim[0]);
    out->count = count;
    if (takt_dtype_is_float(type->dtype))
        out->f = block;
    else
        out->i = block;
    return TAKT_OK;
}

void takt_array_release(takt_ctx *ctx, takt_array *array)
{
    takt_mem_put(ctx, array->f, array->count * sizeof *array->f);
    takt_mem_put(ctx, array->i, array->count * sizeof *array->i);
    array->f = NULL;
    array->i = NULL;
    array->count = 0;
}

takt_type takt_array_type(const takt_array *array)
{
    takt_type type = {.dtype = array->dtype, .rank = array->rank};
    if (array->rank > 0)
        memcpy(type.dim, array->dim, (size_t)array->rank * sizeof type.dim[0]);
    return type;
}

takt_status takt_array_copy(takt_ctx *ctx, const takt_array *from, takt_array *out)
{
    const takt_type type = takt_array_type(from);
    TAKT_TRY(takt_array_create(ctx, &type, out));
    if (from->f != NULL)
        memcpy(out->f, from->f, from->count * sizeof *from->f);
    else
        memcpy(out->i, from->i, from->count * sizeof *from->i);
    return TAKT_OK;
}

void takt_array_round(takt_array *array)
{
    if (array->dtype == TAKT_F64 || array->dtype == TAKT_I64 || array->dtype == TAKT_U64)
        return;
    for (size_t k = 0; k < array->count; k++) {
        if (array->f != NULL)
            array->f[k] = takt_dtype_round(array->dtype, array->f[k]);
        else
            array->i[k] = takt_dtype_wrap(array->dtype, array->i[k]);
    }
}

takt_status takt_array_from_tensor(takt_ctx *ctx, const takt_tensor *from, takt_array *out)
{
    TAKT_TRY(takt_array_create(ctx, &from->type, out));
    const void *data = takt_tensor_data(from);
    for (size_t k = 0; k < out->count; k++) {
        if (out->f != NULL)
            out->f[k] = takt_dtype_get_f(out->dtype, data, k);
        else
            out->i[k] = takt_dtype_get_i(out->dtype, data, k);
    }
    return TAKT_OK;
}

takt_status takt_array_to_tensor(takt_ctx *ctx, const takt_array *from, takt_tensor *out)
{
    const takt_type type = takt_array_type(from);
    TAKT_TRY(takt_tensor_create(ctx, &type, out));
    void *data = takt_tensor_data(out);
    memset(data, 0, takt_tensor_bytes(out)); /* sub-byte types leave the end of the last byte
                                              * unused */
    for (size_t k = 0; k < from->count; k++) {
        if (from->f != NULL)
            takt_dtype_put_f(type.dtype, data, k, from->f[k]);
        else
            takt_dtype_put_i(type.dtype, data, k, from->i[k]);
    }
    return TAKT_OK;
}
