/* constant.c - numbers as constants of a graph. */
#include "io/constant.h"

takt_id takt_io_constant(takt_ctx *ctx, takt_graph *g, const takt_type *type, const double *f,
                         const int64_t *i)
{
    takt_tensor t;
    const takt_status status = takt_tensor_create(ctx, type, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(g, status);
    const size_t count = takt_tensor_count(&t);
    void *data = takt_tensor_data(&t);
    for (size_t k = 0; f != NULL && type->dtype == TAKT_F32 && k < count; k++)
        ((float *)data)[k] = (float)f[k]; /* as most tables are */
    for (size_t k = type->dtype == TAKT_F32 && f != NULL ? count : 0; k < count; k++) {
        if (i != NULL)
            takt_dtype_put_i(type->dtype, data, k, takt_dtype_wrap(type->dtype, i[k]));
        else if (takt_dtype_is_float(type->dtype))
            takt_dtype_put_f(type->dtype, data, k, takt_dtype_round(type->dtype, f[k]));
        else
            takt_dtype_put_i(type->dtype, data, k, takt_dtype_from_double(type->dtype, f[k]));
    }
    const takt_id id = takt_graph_constant(g, &t);
    takt_tensor_release(&t);
    return id;
}
