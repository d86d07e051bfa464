/* sized.c - the first rows of a value that has room for more. */
#include "op/util/check.h"
#include "op/util/index.h"

enum { SHAPE };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_type *out = &in->out[0];
    bool agree = true;
    out->dtype = x->dtype;
    TAKT_TRY(takt_check_set_shape(in, SHAPE, out));
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    if (out->rank != x->rank)
        return takt_infer_fail(in, TAKT_E_SHAPE, "the shape has %d dimensions", out->rank);
    for (int d = 1; d < x->rank && agree; d++)
        TAKT_TRY(takt_check_agree(in, x->dim[d], out->dim[d], &agree));
    if (!agree)
        return takt_infer_fail(in, TAKT_E_SHAPE, "only the first dimension may be another");
    if (takt_dim_is_number(x->dim[0]) && takt_dim_is_number(out->dim[0]) && out->dim[0] > x->dim[0])
        return takt_infer_fail(in, TAKT_E_SHAPE, "there are no %lld rows", (long long)out->dim[0]);
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    for (size_t i = 0; i < e->out[0].count; i++)
        if (e->out[0].f != NULL)
            e->out[0].f[i] = e->in[0].f[i];
        else
            e->out[0].i[i] = e->in[0].i[i];
    return TAKT_OK;
}

const takt_op takt_op_sized = {
    .name = "sized",
    .summary = "the first rows of a value that was made with room for more",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[SHAPE] = {.name = "shape",
                         .type = TAKT_ATTR_SHAPE,
                         .is_required = true,
                         .summary = "dimensions of the result; all but the first are x's"}},
    .traits = TAKT_PRIMITIVE | TAKT_VIEW,
    .dtypes = TAKT_COMPUTE,
    .infer = infer,
    .eval = eval,
    .no_gradient = "it cuts what is found by values",
    .no_bound = "what it cuts is found by values",
    .samples = {"sized(f32[5, 3], shape=[2, 3])", "sized(i64[4], shape=[0])",
                "sized(bool[3, 1, 2], shape=[3, 1, 2])"},
};
