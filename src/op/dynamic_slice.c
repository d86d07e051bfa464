/* dynamic_slice.c - `size` elements of an axis from a start known only at run time. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/place.h"
#include "op/util/stops.h"

enum { AXIS, SIZE };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    int axis = 0;
    TAKT_TRY(takt_check_index(in, 1));
    TAKT_TRY(takt_infer_rank(in, 1, 0, 0));
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
    if (in->attr[SIZE].count != 1)
        return takt_fail(in->ctx, TAKT_E_ATTR, "dynamic_slice: size is one dimension, got %u",
                         in->attr[SIZE].count);
    const takt_dim size = in->attr[SIZE].dims[0];
    in->out[0] = *x;
    in->out[0].dim[axis] = size;
    char type[TAKT_TYPE_TEXT];
    if (takt_dim_is_number(size) && takt_dim_is_number(x->dim[axis]) && size > x->dim[axis])
        return takt_fail(in->ctx, TAKT_E_SHAPE,
                         "dynamic_slice: size %lld is more than axis %d of "
                         "%s",
                         (long long)size, axis, takt_type_text(in->dims, x, type));
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    takt_place p = {0};
    TAKT_TRY(takt_place_find(e, x, out, 1, e->attr[AXIS].i64, &p));
    for (size_t o = 0; o < p.outer && !takt_eval_stops(e, p.part); o++)
        for (size_t k = 0; k < p.part; k++)
            takt_index_move(out, o * p.part + k, x, o * p.whole + p.offset + k);
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const takt_id in[3] = {takt_make_filled(g, n.in[0], 0), dy[0], n.in[1]};
    dx[0] = takt_make_axis(g, &takt_op_update_slice, 3, in, n.attr[AXIS].i64);
}

const takt_op takt_op_dynamic_slice = {
    .name = "dynamic_slice",
    .summary = "part of an axis from a start that is known only in the run",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "start"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis that is cut"},
              [SIZE] = {.name = "size",
                        .type = TAKT_ATTR_SHAPE,
                        .is_required = true,
                        .summary = "one dimension: how much of it"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .fixed = 1U << 1, /* where */
    .affine = 1,
    .samples = {"dynamic_slice(f32[5, 3], i64[] in (0, 3), size=[2])",
                "dynamic_slice(f64[2, 4, 3], i32[] in (0, 1), axis=1, size=[3])",
                "dynamic_slice(u8[4], i64[] in (-3, -3), size=[3])"},
};
