/* update_slice.c - x with u in place of part of an axis; the plan does it in place if possible.
 *
 * One start for all, or one for every element of the first dimension: caches of several sequences
 * grow from different lengths. An empty part may start anywhere.
 */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/place.h"
#include "op/util/stops.h"

enum { AXIS };

static takt_status check_starts(takt_infer *in, int axis)
{
    if (in->type[2]->rank == 0)
        return TAKT_OK;
    if (axis == 0)
        return takt_fail(in->ctx, TAKT_E_SHAPE,
                         "update_slice: several starts need an axis behind the first");
    return takt_check_dims(in, 0, 0, 2, 0);
}

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0], *u = in->type[1];
    int axis = 0;
    TAKT_TRY(takt_check_same_dtype(in, 0, 1));
    TAKT_TRY(takt_check_index(in, 2));
    TAKT_TRY(takt_infer_rank(in, 2, 0, 1));
    TAKT_TRY(takt_infer_rank(in, 1, x->rank, x->rank));
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
    TAKT_TRY(check_starts(in, axis));
    for (int i = 0; i < x->rank; i++)
        if (i != axis)
            TAKT_TRY(takt_check_dims(in, 0, i, 1, i));
    in->out[0] = *x;
    char tx[TAKT_TYPE_TEXT], tu[TAKT_TYPE_TEXT];
    if (takt_dim_is_number(x->dim[axis]) && takt_dim_is_number(u->dim[axis]) &&
        u->dim[axis] > x->dim[axis])
        return takt_fail(in->ctx, TAKT_E_SHAPE,
                         "update_slice: u is longer than x along axis %d: x "
                         "is %s, u is %s",
                         axis, takt_type_text(in->dims, x, tx), takt_type_text(in->dims, u, tu));
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *u = &e->in[1];
    takt_array *out = &e->out[0];
    takt_place p = {0};
    const size_t all = e->in[2].rank == 0 ? 1 : (size_t)e->in[2].dim[0];
    const size_t starts = u->count > 0 ? all : 0;
    for (p.which = 0; p.which < starts; p.which++)
        TAKT_TRY(takt_place_find(e, out, u, 2, e->attr[AXIS].i64, &p));
    takt_index_copy(out, &e->in[0]);
    for (size_t i = 0; i < starts; i++) {
        p.which = i;
        TAKT_TRY(takt_place_find(e, out, u, 2, e->attr[AXIS].i64, &p));
        const size_t first = p.outer / starts * i, end = p.outer / starts * (i + 1);
        for (size_t o = first; o < end && !takt_eval_stops(e, p.part); o++)
            for (size_t k = 0; k < p.part; k++)
                takt_index_move(out, o * p.whole + p.offset + k, u, o * p.part + k);
    }
    return TAKT_OK;
}

/* The part of x that u would replace, with a start for every element of the first dimension. */
static takt_id taken(takt_graph *g, const takt_node *n, takt_id x, int64_t axis)
{
    const takt_type *u = takt_type_of(g, n->in[1]);
    takt_dim ones[TAKT_MAX_RANK], shape[TAKT_MAX_RANK];
    for (int i = 0; i < u->rank; i++) {
        ones[i] = i == 0 ? u->dim[0] : 1;
        shape[i] = u->dim[i];
    }
    const size_t rank = (size_t)u->rank;
    const takt_id start = takt_reshape(g, takt_cast(g, n->in[2], TAKT_I64), ones, rank);
    const takt_id at = takt_add(g, start, takt_make_iota(g, shape, (int)rank, (int)axis));
    return takt_make_axis(g, &takt_op_gather_elements, 2, (takt_id[]){x, at}, axis);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const int64_t given = n.attr[AXIS].i64, axis = given < 0 ? given + n.type[0].rank : given;
    const takt_dim size = takt_type_of(g, n.in[1])->dim[axis];
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"size", takt_attr_shape(&size, 1)}};
    const takt_id in[3] = {dy[0], takt_make_filled(g, n.in[1], 0), n.in[2]};
    dx[0] = takt_make_axis(g, &takt_op_update_slice, 3, in, axis);
    if (takt_type_of(g, n.in[2])->rank > 0)
        dx[1] = taken(g, &n, dy[0], axis);
    else
        dx[1] =
            takt_graph_call(g, &takt_op_dynamic_slice, 2, (takt_id[]){dy[0], n.in[2]}, 2, attrs);
}

const takt_op takt_op_update_slice = {
    .name = "update_slice",
    .summary = "x with u in place of part of an axis, from a start known only in the run",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "u", "start"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis along which u is shorter"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .fixed = 1U << 2, /* where */
    .affine = 3,
    .samples = {"update_slice(f32[5, 3], f32[2, 3], i64[] in (0, 3))",
                "update_slice(f64[2, 4, 3], f64[2, 3, 3], i32[] in (0, 1), axis=1)",
                "update_slice(f32[3, 2, 5], f32[3, 2, 2], i64[3] in (0, 3), axis=-1)",
                "update_slice(u8[4], u8[3], i64[] in (-3, -3))"},
};
