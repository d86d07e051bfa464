/* affine.c - scale and zero point per tensor or per axis. */
#include "op/util/affine.h"

#include "op/util/check.h"
#include "op/util/index.h"

takt_status takt_affine_infer(takt_infer *in, int64_t axis, takt_dtype quantised)
{
    const takt_type *x = in->type[0], *scale = in->type[1];
    TAKT_TRY(takt_infer_dtype(in, 1, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_infer_rank(in, 1, 0, 1));
    if (scale->rank == 1) {
        int at = 0;
        TAKT_TRY(takt_check_axis(in, axis, x->rank, &at));
        TAKT_TRY(takt_check_dims(in, 0, at, 1, 0));
    }
    if (in->in_count < 3 || in->type[2] == NULL)
        return TAKT_OK;
    if (in->type[2]->dtype != quantised)
        return takt_fail(in->ctx, TAKT_E_DTYPE, "%s: zero is %s, but the quantised type is %s",
                         in->op->name, takt_dtype_name(in->type[2]->dtype),
                         takt_dtype_name(quantised));
    return takt_check_shape(in, 2, scale, "scale");
}

takt_affine takt_affine_at(const takt_eval *e, int64_t axis, size_t element)
{
    const takt_array *x = &e->in[0], *scale = &e->in[1];
    size_t at = 0;
    if (scale->rank == 1) {
        const int d = (int)(axis < 0 ? axis + x->rank : axis);
        at = element / takt_index_span(x, d + 1, x->rank) % (size_t)x->dim[d];
    }
    const bool has_zero = e->in_count > 2 && e->in[2].rank >= 0;
    return (takt_affine){.scale = scale->f[at], .zero = has_zero ? e->in[2].i[at] : 0};
}

takt_id takt_affine_spread(takt_graph *g, takt_id parameter, const takt_type *x, int64_t axis)
{
    if (parameter == TAKT_NONE || takt_type_of(g, parameter)->rank == 0)
        return parameter;
    const int at = (int)(axis < 0 ? axis + x->rank : axis);
    takt_dim dims[TAKT_MAX_RANK];
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == at ? x->dim[d] : 1;
    return takt_reshape(g, parameter, dims, (size_t)x->rank);
}
