/* gather_elements.c - for each position of index, the element of x with that index on the axis. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/elements.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    int axis = 0;
    TAKT_TRY(takt_elements_infer(in, in->attr[AXIS].i64, &axis));
    in->out[0] = *in->type[1];
    in->out[0].dtype = in->type[0]->dtype;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0], *index = &e->in[1];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + x->rank : given);
    for (size_t i = 0; i < index->count && !takt_eval_stops(e, 1); i++) {
        int64_t at[TAKT_MAX_RANK];
        takt_index_at(index, i, at);
        TAKT_TRY(takt_index_read(e, 1, i, x->dim[axis], &at[axis]));
        takt_index_move(&e->out[0], i, x, takt_index_flat(x, at));
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const takt_id zeros = takt_make_filled(g, n.in[0], 0);
    dx[0] = takt_elements_scatter(g, zeros, n.in[1], dy[0], n.attr[AXIS].i64, TAKT_ADD);
}

const takt_op takt_op_gather_elements = {
    .name = "gather_elements",
    .summary = "for each position of index, the element of x with that index on the axis",
    .onnx = {{"GatherElements", 11, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "index"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis that is indexed"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .fixed = 1U << 1, /* where */
    .affine = 1,
    .samples = {"gather_elements(f32[3, 4], i64[2, 4] in (-3, 2))",
                "gather_elements(f64[2, 5], i32[2, 3] in (0, 4), axis=1)",
                "gather_elements(i16[6], i64[2] in (0, 5))"},
};
