/* iota.c - 0, 1, 2, … along one axis, the same for all others. */
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/stops.h"

enum { DTYPE, SHAPE, AXIS };

static takt_status infer(takt_infer *in)
{
    in->out[0].dtype = in->attr[DTYPE].dtype;
    TAKT_TRY(takt_check_set_shape(in, SHAPE, &in->out[0]));
    if ((TAKT_NUMBERS & TAKT_IN(in->out[0].dtype)) == 0)
        return takt_fail(in->ctx, TAKT_E_DTYPE, "iota: dtype must be a number, got %s",
                         takt_dtype_name(in->out[0].dtype));
    int axis;
    return takt_check_axis(in, in->attr[AXIS].i64, in->out[0].rank, &axis);
}

static takt_status eval(takt_eval *e)
{
    takt_array *out = &e->out[0];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + out->rank : given);
    const size_t inner = takt_index_span(out, axis + 1, out->rank);
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        const size_t value = i / inner % (size_t)out->dim[axis];
        if (takt_dtype_is_float(out->dtype))
            out->f[i] = (double)value;
        else
            out->i[i] = (int64_t)value;
    }
    return TAKT_OK;
}

const takt_op takt_op_iota = {
    .name = "iota",
    .summary = "0, 1, 2, ... along an axis",
    .attrs = {[DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .fallback.dtype = TAKT_I64,
                         .summary = "element type of the result"},
              [SHAPE] = {.name = "shape",
                         .type = TAKT_ATTR_SHAPE,
                         .is_required = true,
                         .summary = "dimensions of the result"},
              [AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis along which values grow"}},
    .traits = TAKT_PRIMITIVE,
    .infer = infer,
    .eval = eval,
    .no_gradient = "it has no input",
    .samples = {"iota(shape=[7])", "iota(dtype=f32, shape=[3, 4], axis=1)",
                "iota(dtype=u8, shape=[2, 3, 2], axis=-2)", "iota(dtype=i32, shape=[1])"},
};
