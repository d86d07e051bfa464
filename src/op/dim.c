/* dim.c - the size of an axis as an integer. */
#include "op/util/bound.h"
#include "op/util/check.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    int axis = 0;
    in->out[0] = (takt_type){.dtype = TAKT_I64};
    return takt_check_axis(in, in->attr[AXIS].i64, in->type[0]->rank, &axis);
}

static takt_status eval(takt_eval *e)
{
    const int64_t axis = e->attr[AXIS].i64;
    e->out[0].i[0] = e->in[0].dim[axis < 0 ? axis + e->in[0].rank : axis];
    return TAKT_OK;
}

/* Sizes are known; the contents of x do not matter. */
static void bound(takt_bounding *b)
{
    const takt_type *x = takt_type_of(b->model, b->node->in[0]);
    const int64_t axis = b->node->attr[AXIS].i64;
    const takt_id size = takt_scalar_i64(b->g, x->dim[axis < 0 ? axis + x->rank : axis]);
    b->out[0] = (takt_range){.lo = size, .hi = size, .is_point = true};
}

const takt_op takt_op_dim = {
    .name = "dim",
    .summary = "the size of an axis as an integer",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .is_required = true,
                        .summary = "which axis"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .eval = eval,
    .no_gradient = "its result is a size",
    .bound = bound,
    .samples = {"dim(f32[2, 5], axis=1)", "dim(i8[3, 0, 4], axis=-2)"},
};
