/* max_pool_pick.c - for each window of x, the element of t where x is largest.
 *
 * The adjoint of max_pool_dx, so that second derivatives through max_pool exist.
 */
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/pool.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_check_shape(in, 1, in->type[0], "x"));
    return takt_pool_infer(in, in->type[0], &in->out[0]);
}

static void visit(void *user, const takt_pool_visit *window)
{
    const takt_eval *e = user;
    if (window->tap_count > 0)
        takt_index_move(&e->out[0], window->y, &e->in[1], takt_pool_largest(&e->in[0], window));
}

static takt_status eval(takt_eval *e)
{
    return takt_pool_each(e, &e->in[0], &e->out[0], visit, e);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[1] = takt_pool_make(g, &takt_op_max_pool_dx, &n, 2, (takt_id[]){n.in[0], dy[0]}, NULL);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_pool_cost(g, n, &n->type[0], cost);
}

const takt_op takt_op_max_pool_pick = {
    .name = "max_pool_pick",
    .summary = "the element of t where each window of x is largest",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "t"},
    .attrs = {TAKT_POOL_ATTRS},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .no_bound = "which element of a window is largest is not followed",
    .samples = {"max_pool_pick(f32[2, 3, 6, 7], f32[2, 3, 6, 7], kernel=[2, 2], stride=[2, 2])",
                "max_pool_pick(f64[1, 5, 2], f64[1, 5, 2], kernel=[3], pad=[1, 1], layout=nhwc)"},
};
