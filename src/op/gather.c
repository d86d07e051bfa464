/* gather.c - rows of x at the given indices along an axis, as NumPy's take. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0], *index = in->type[1];
    takt_type *out = &in->out[0];
    int axis = 0;
    TAKT_TRY(takt_check_index(in, 1));
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
    if (x->rank - 1 + index->rank > TAKT_MAX_RANK)
        return takt_fail(in->ctx, TAKT_E_RANK,
                         "gather: the result would have %d axes; %d are "
                         "possible",
                         x->rank - 1 + index->rank, TAKT_MAX_RANK);
    out->dtype = x->dtype;
    out->rank = 0;
    for (int i = 0; i < axis; i++)
        out->dim[out->rank++] = x->dim[i];
    for (int i = 0; i < index->rank; i++)
        out->dim[out->rank++] = index->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        out->dim[out->rank++] = x->dim[i];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0], *index = &e->in[1];
    takt_array *out = &e->out[0];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + x->rank : given);
    const size_t outer = takt_index_span(x, 0, axis), size = (size_t)x->dim[axis];
    const size_t inner = takt_index_span(x, axis + 1, x->rank);
    for (size_t j = 0; j < index->count && !takt_eval_stops(e, 1); j++) {
        int64_t row = 0;
        TAKT_TRY(takt_index_read(e, 1, j, x->dim[axis], &row));
        for (size_t o = 0; o < outer && !takt_eval_stops(e, inner); o++)
            for (size_t k = 0; k < inner; k++)
                takt_index_move(out, (o * index->count + j) * inner + k, x,
                                (o * size + (size_t)row) * inner + k);
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const takt_id zeros = takt_make_filled(g, n.in[0], 0);
    dx[0] = takt_make_axis(g, &takt_op_index_add, 3, (takt_id[]){zeros, n.in[1], dy[0]},
                           n.attr[AXIS].i64);
}

const takt_op takt_op_gather = {
    .name = "gather",
    .summary = "rows of x at the given indices along an axis",
    .onnx = {{"Gather", 1, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "index"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis that is indexed"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED | TAKT_AMP_TABLE,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .fixed = 1U << 1, /* where */
    .affine = 1,
    .samples = {"gather(f32[3, 5], i64[2] in (0, 4), axis=1)",
                "gather(f32[5, 3], i64[2, 4] in "
                "(-5, 4))",
                "gather(f64[2, 4, 3], i32[] in (-4, 3), axis=-2)",
                "gather(u8[4], i32[3] in (0, 3))"},
};
