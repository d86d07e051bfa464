/* index_add.c - x with rows of u added, in order, at the given indices along an axis. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0], *index = in->type[1];
    int axis = 0;
    TAKT_TRY(takt_check_index(in, 1));
    TAKT_TRY(takt_check_same_dtype(in, 0, 2));
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_NUMBERS, "a number"));
    TAKT_TRY(takt_check_axis(in, in->attr[AXIS].i64, x->rank, &axis));
    if (x->rank - 1 + index->rank > TAKT_MAX_RANK)
        return takt_fail(in->ctx, TAKT_E_RANK,
                         "index_add: index and x have too many axes together");
    takt_type want = {.dtype = x->dtype};
    for (int i = 0; i < axis; i++)
        want.dim[want.rank++] = x->dim[i];
    for (int i = 0; i < index->rank; i++)
        want.dim[want.rank++] = index->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        want.dim[want.rank++] = x->dim[i];
    TAKT_TRY(takt_check_shape(in, 2, &want, "x with index in place of the axis"));
    in->out[0] = *x;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0], *index = &e->in[1], *u = &e->in[2];
    takt_array *out = &e->out[0];
    const int64_t given = e->attr[AXIS].i64;
    const int axis = (int)(given < 0 ? given + x->rank : given);
    const size_t outer = takt_index_span(x, 0, axis), size = (size_t)x->dim[axis];
    const size_t inner = takt_index_span(x, axis + 1, x->rank);
    takt_index_copy(out, x);
    for (size_t j = 0; j < index->count && !takt_eval_stops(e, 1); j++) {
        int64_t row = 0;
        TAKT_TRY(takt_index_read(e, 1, j, x->dim[axis], &row));
        for (size_t o = 0; o < outer && !takt_eval_stops(e, inner); o++)
            for (size_t k = 0; k < inner; k++)
                takt_index_combine(TAKT_ADD, out, (o * size + (size_t)row) * inner + k, u,
                                   (o * index->count + j) * inner + k);
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = dy[0];
    dx[2] = takt_make_axis(g, &takt_op_gather, 2, (takt_id[]){dy[0], n.in[1]}, n.attr[AXIS].i64);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = takt_make_count(takt_type_of(g, n->in[2]));
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_index_add = {
    .name = "index_add",
    .summary = "x with rows of u added at the given indices along an axis",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "index", "u"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 0,
                        .summary = "the axis that is indexed"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_NUMBERS,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_sum,
    .error.roundings = takt_roundings_chain,
    .fixed = 1U << 1, /* where */
    .affine = 1U | 1U << 2,
    .samples = {"index_add(f32[5, 3], i64[4] in (-5, 4), f32[4, 3])",
                "index_add(f32[2, 4], i32[2, 3] in (0, 3), f32[2, 2, 3], axis=1)",
                "index_add(i8[3], i64[] in (0, 2), i8[])"},
};
