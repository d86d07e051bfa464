/* scatter_elements.c - x with elements of u written, in order, at the given indices along an
 * axis. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/elements.h"
#include "op/util/make.h"
#include "op/util/scatter_grad.h"
#include "op/util/stops.h"

enum { AXIS, REDUCE };

static takt_status infer(takt_infer *in)
{
    int axis = 0;
    TAKT_TRY(takt_elements_infer(in, in->attr[AXIS].i64, &axis));
    TAKT_TRY(takt_check_same_dtype(in, 0, 2));
    if (in->attr[REDUCE].i64 != TAKT_SET)
        TAKT_TRY(takt_infer_dtype(in, 0, TAKT_NUMBERS, "a number"));
    TAKT_TRY(takt_check_shape(in, 2, in->type[1], "index"));
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0], *index = &e->in[1], *u = &e->in[2];
    takt_array *out = &e->out[0];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + x->rank : given);
    takt_index_copy(out, x);
    for (size_t i = 0; i < index->count && !takt_eval_stops(e, 1); i++) {
        int64_t at[TAKT_MAX_RANK];
        takt_index_at(index, i, at);
        TAKT_TRY(takt_index_read(e, 1, i, x->dim[axis], &at[axis]));
        takt_index_combine((takt_scatter)e->attr[REDUCE].i64, out, takt_index_flat(out, at), u, i);
    }
    return TAKT_OK;
}

/* If several elements of u have the same target, the last one wins: scatter their positions along
 * the axis the same way and see which survive. */
static takt_id kept(takt_graph *g, const takt_node *n, int64_t axis)
{
    const takt_type *x = &n->type[0], *u = takt_type_of(g, n->in[2]);
    const int at = (int)(axis < 0 ? axis + u->rank : axis);
    const takt_id place = takt_make_iota(g, u->dim, u->rank, at);
    const takt_id nobody = takt_broadcast(g, takt_scalar_i64(g, -1), x->dim, (size_t)x->rank);
    const takt_id last = takt_elements_scatter(g, nobody, n->in[1], place, axis, TAKT_SET);
    return takt_binary(g, &takt_op_eq, place, takt_elements_gather(g, last, n->in[1], axis));
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    static const takt_scatter_way way = {takt_elements_gather, takt_elements_scatter, kept};
    takt_scatter_grad(g, id, dy[0], dx, &way);
}

const takt_op takt_op_scatter_elements = {
    .name = "scatter_elements",
    .summary = "x with elements of u put where index says along an axis",
    .onnx = {{"ScatterElements", 11, 0}},
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "index", "u"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis that is indexed"},
              [REDUCE] = {.name = "reduce",
                          .type = TAKT_ATTR_ENUM,
                          .names = takt_scatter_names,
                          .onnx = "reduction",
                          .summary = "how elements meet what is there"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_scatter,
    .error.roundings = takt_roundings_chain, /* reduce=add */
    .fixed = 1U << 1,                        /* where */
    .affine = 1U | 1U << 2,
    .samples = {"scatter_elements(f32[3, 4], i64[2, 4] in (-3, 2), f32[2, 4])",
                "scatter_elements(f32[2, 5], i32[2, 3] in (0, 4), f32[2, 3], axis=1, reduce=add)",
                "scatter_elements(f64[3], i64[4] in (0, 2), f64[4] in (0.5, 2), reduce=mul)",
                "scatter_elements(f32[3, 2], i64[2, 2] in (0, 2), f32[2, 2], reduce=max)",
                "scatter_elements(i32[6], i64[2] in (0, 5), i32[2], reduce=min)"},
};
