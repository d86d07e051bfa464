/* flatten.c - flattens to a matrix: the axes before one, and the rest. */
#include "op/util/check.h"
#include "op/util/make.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    const int64_t axis = in->attr[AXIS].i64;
    if (axis < -x->rank || axis > x->rank)
        return takt_fail(in->ctx, TAKT_E_ATTR, "flatten: axis %lld is outside %d to %d",
                         (long long)axis, -x->rank, x->rank);
    const int split = (int)(axis < 0 ? axis + x->rank : axis);
    in->out[0] = (takt_type){.dtype = x->dtype, .rank = 2, .dim = {1, 1}};
    for (int i = 0; i < x->rank; i++) {
        takt_dim *d = &in->out[0].dim[i < split ? 0 : 1];
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, *d, x->dim[i], d));
    }
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_reshape(g, n->in[0], n->type[0].dim, 2);
}

const takt_op takt_op_flatten = {
    .name = "flatten",
    .summary = "a matrix: the axes before one flattened, and the rest",
    .onnx = {{"Flatten", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 1,
                        .summary = "the first axis of the second part"}},
    .traits = TAKT_VIEW,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"flatten(f32[2, 3, 4])", "flatten(f32[2, 3, 4], axis=-1)",
                "flatten(f64[3], axis=0)", "flatten(i32[2, 3], axis=2)"},
};
