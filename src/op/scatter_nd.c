/* scatter_nd.c - x with blocks of u written, in order, at rows of coordinates. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/nd.h"
#include "op/util/scatter_grad.h"
#include "op/util/stops.h"

enum { BATCH, REDUCE };

static takt_status infer(takt_infer *in)
{
    takt_type want;
    TAKT_TRY(takt_nd_infer(in, in->attr[BATCH].i64, &want));
    TAKT_TRY(takt_check_same_dtype(in, 0, 2));
    if (in->attr[REDUCE].i64 != TAKT_SET)
        TAKT_TRY(takt_infer_dtype(in, 0, TAKT_NUMBERS, "a number"));
    TAKT_TRY(takt_check_shape(in, 2, &want, "what index selects from x"));
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *index = &e->in[1];
    const size_t rows = takt_index_span(index, 0, index->rank - 1);
    takt_index_copy(&e->out[0], &e->in[0]);
    for (size_t r = 0; r < rows && !takt_eval_stops(e, 1); r++) {
        size_t offset = 0, size = 0;
        TAKT_TRY(takt_nd_block(e, e->attr[BATCH].i64, r, &offset, &size));
        for (size_t i = 0; i < size && !takt_eval_stops(e, 1); i++)
            takt_index_combine((takt_scatter)e->attr[REDUCE].i64, &e->out[0], offset + i, &e->in[2],
                               r * size + i);
    }
    return TAKT_OK;
}

/* 0, 1, 2, … for the rows of index, in the shape of index without its last axis. */
static takt_id row_numbers(takt_graph *g, const takt_type *index)
{
    const takt_dim rows = takt_make_product(g, index->dim, index->rank - 1);
    return takt_reshape(g, takt_make_iota(g, &rows, 1, 0), index->dim, (size_t)index->rank - 1);
}

/* If several rows have the same target, the last wins: scatter their numbers and see which
 * survive. */
static takt_id kept(takt_graph *g, const takt_node *n, int64_t batch)
{
    const takt_type *x = &n->type[0], *index = takt_type_of(g, n->in[1]);
    const size_t places = (size_t)(batch + index->dim[index->rank - 1]);
    const takt_id nobody = takt_broadcast(g, takt_scalar_i64(g, -1), x->dim, places);
    const takt_id rows = row_numbers(g, index);
    const takt_id last = takt_nd_scatter(g, nobody, n->in[1], rows, batch, TAKT_SET);
    const takt_id flags =
        takt_binary(g, &takt_op_eq, rows, takt_nd_gather(g, last, n->in[1], batch));
    takt_type wide = *takt_type_of(g, n->in[2]); /* the rows' flags, once for each block */
    for (int i = takt_type_of(g, n->in[1])->rank - 1; i < wide.rank; i++)
        wide.dim[i] = 1;
    return takt_reshape(g, flags, wide.dim, (size_t)wide.rank);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    static const takt_scatter_way way = {takt_nd_gather, takt_nd_scatter, kept};
    takt_scatter_grad(g, id, dy[0], dx, &way);
}

const takt_op takt_op_scatter_nd = {
    .name = "scatter_nd",
    .summary = "x with blocks of u put at rows of coordinates",
    .onnx = {{"ScatterND", 11, 0}},
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "index", "u"},
    .attrs = {[BATCH] = {.name = "batch",
                         .type = TAKT_ATTR_I64,
                         .summary = "leading axes that x and index have in common"},
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
    .samples = {"scatter_nd(f32[3, 4, 2], i64[5, 2] in (-3, 2), f32[5, 2])",
                "scatter_nd(f64[2, 3], i32[2, 2, 1] in (0, 2), f64[2, 2], batch=1, reduce=add)",
                "scatter_nd(f32[4], i64[3, 1] in (0, 3), f32[3] in (0.5, 2), reduce=mul)",
                "scatter_nd(f32[4, 2], i64[3, 1] in (0, 3), f32[3, 2], reduce=min)"},
};
