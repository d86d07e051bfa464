/* gather_nd.c - blocks of x at rows of coordinates. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/make.h"
#include "op/util/nd.h"
#include "op/util/stops.h"

enum { BATCH };

static takt_status infer(takt_infer *in)
{
    return takt_nd_infer(in, in->attr[BATCH].i64, &in->out[0]);
}

static takt_status eval(takt_eval *e)
{
    const takt_array *index = &e->in[1];
    const size_t rows = takt_index_span(index, 0, index->rank - 1);
    for (size_t r = 0; r < rows && !takt_eval_stops(e, 1); r++) {
        size_t offset = 0, size = 0;
        TAKT_TRY(takt_nd_block(e, e->attr[BATCH].i64, r, &offset, &size));
        for (size_t i = 0; i < size && !takt_eval_stops(e, 1); i++)
            takt_index_move(&e->out[0], r * size + i, &e->in[0], offset + i);
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_nd_scatter(g, takt_make_filled(g, n.in[0], 0), n.in[1], dy[0], n.attr[BATCH].i64,
                            TAKT_ADD);
}

const takt_op takt_op_gather_nd = {
    .name = "gather_nd",
    .summary = "blocks of x at rows of coordinates",
    .onnx = {{"GatherND", 11, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "index"},
    .attrs = {[BATCH] = {.name = "batch",
                         .type = TAKT_ATTR_I64,
                         .onnx = "batch_dims",
                         .summary = "leading axes that x and index have in common"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = takt_bound_exact,
    .fixed = 1U << 1, /* where */
    .affine = 1,
    .samples = {"gather_nd(f32[3, 4, 2], i64[5, 2] in (-3, 2))",
                "gather_nd(f64[2, 3, 4], i32[2, 2, 1] in (0, 2), batch=1)",
                "gather_nd(i8[3, 3], i64[2, 2, 2] in (0, 2))"},
};
