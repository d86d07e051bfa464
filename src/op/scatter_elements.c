/* scatter_elements.c - x with elements of u put, in order, where index says along an axis. */
#include "op/util/check.h"
#include "op/util/elements.h"
#include "op/util/make.h"

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
    for (size_t i = 0; i < index->count; i++) {
        int64_t at[TAKT_MAX_RANK];
        takt_index_at(index, i, at);
        TAKT_TRY(takt_index_read(e, 1, i, x->dim[axis], &at[axis]));
        takt_index_combine((takt_scatter)e->attr[REDUCE].i64, out, takt_index_flat(out, at), u, i);
    }
    return TAKT_OK;
}

/* Where several elements of u go to one place the last one stays: scatter their positions along
 * the axis the same way and see which survive. */
static void grad_set(takt_graph *g, const takt_node *n, takt_id dy, takt_id *dx)
{
    const int64_t axis = n->attr[AXIS].i64;
    const takt_type *x = &n->type[0], *u = takt_type_of(g, n->in[2]);
    const int at = (int)(axis < 0 ? axis + u->rank : axis);
    const takt_id place = takt_make_iota(g, u->dim, u->rank, at);
    const takt_id nobody = takt_broadcast(g, takt_scalar_i64(g, -1), x->dim, (size_t)x->rank);
    const takt_id last = takt_elements_scatter(g, nobody, n->in[1], place, axis, TAKT_SET);
    const takt_id kept =
        takt_binary(g, &takt_op_eq, place, takt_elements_gather(g, last, n->in[1], axis));
    const takt_id zeros = takt_make_filled(g, n->in[2], 0);
    dx[0] = takt_elements_scatter(g, dy, n->in[1], zeros, axis, TAKT_SET);
    dx[2] = takt_select(g, kept, takt_elements_gather(g, dy, n->in[1], axis), zeros);
}

/* y is a product: dy/du = y / u, and dy/dx is the product of the u alone. */
static void grad_mul(takt_graph *g, const takt_node *n, takt_id y, takt_id dy, takt_id *dx)
{
    const int64_t axis = n->attr[AXIS].i64;
    const takt_id ones = takt_make_filled(g, n->in[0], 1);
    const takt_id rest = takt_elements_scatter(g, ones, n->in[1], n->in[2], axis, TAKT_MUL);
    dx[0] = takt_mul(g, dy, rest);
    dx[2] = takt_div(g, takt_elements_gather(g, takt_mul(g, dy, y), n->in[1], axis), n->in[2]);
}

/* dy goes to whoever equals the result. */
static void grad_extreme(takt_graph *g, const takt_node *n, takt_id y, takt_id dy, takt_id *dx)
{
    const int64_t axis = n->attr[AXIS].i64;
    const takt_id zero = takt_scalar_like(g, dy, 0);
    const takt_id picked = takt_elements_gather(g, y, n->in[1], axis);
    dx[0] = takt_select(g, takt_binary(g, &takt_op_eq, n->in[0], y), dy, zero);
    dx[2] = takt_select(g, takt_binary(g, &takt_op_eq, n->in[2], picked),
                        takt_elements_gather(g, dy, n->in[1], axis), zero);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    switch ((takt_scatter)n.attr[REDUCE].i64) {
    case TAKT_SET: grad_set(g, &n, dy[0], dx); break;
    case TAKT_ADD:
        dx[0] = dy[0];
        dx[2] = takt_elements_gather(g, dy[0], n.in[1], n.attr[AXIS].i64);
        break;
    case TAKT_MUL: grad_mul(g, &n, id, dy[0], dx); break;
    case TAKT_MAX:
    case TAKT_MIN: grad_extreme(g, &n, id, dy[0], dx); break;
    }
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
    .samples = {"scatter_elements(f32[3, 4], i64[2, 4] in (-3, 2), f32[2, 4])",
                "scatter_elements(f32[2, 5], i32[2, 3] in (0, 4), f32[2, 3], axis=1, reduce=add)",
                "scatter_elements(f64[3], i64[4] in (0, 2), f64[4] in (0.5, 2), reduce=mul)",
                "scatter_elements(f32[3, 2], i64[2, 2] in (0, 2), f32[2, 2], reduce=max)",
                "scatter_elements(i32[6], i64[2] in (0, 5), i32[2], reduce=min)"},
};
