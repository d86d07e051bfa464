/* max_pool_dx.c - gradient of max_pool: each window's dy goes to its largest element. */
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/pool.h"

static takt_status infer(takt_infer *in)
{
    takt_type y;
    TAKT_TRY(takt_pool_infer(in, in->type[0], &y));
    TAKT_TRY(takt_check_shape(in, 1, &y, "max_pool of x"));
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static void visit(void *user, const takt_pool_visit *window)
{
    const takt_eval *e = user;
    if (window->tap_count > 0)
        e->out[0].f[takt_pool_largest(&e->in[0], window)] += e->in[1].f[window->y];
}

static takt_status eval(takt_eval *e)
{
    return takt_pool_each(e, &e->in[0], &e->in[1], visit, e);
}

/* Linear in dy; constant in x wherever it is differentiable. */
static void grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[1] = takt_pool_make(g, &takt_op_max_pool_pick, &n, 2, (takt_id[]){n.in[0], t[0]}, NULL);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_pool_cost(g, n, takt_type_of(g, n->in[1]), cost);
}

const takt_op takt_op_max_pool_dx = {
    .name = "max_pool_dx",
    .summary = "gradient of max_pool: dy at the largest element of each window",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "dy"},
    .attrs = {TAKT_POOL_ATTRS},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .no_bound = "which element of a window is largest is not followed",
    .samples = {"max_pool_dx(f32[2, 3, 6, 7], f32[2, 3, 3, 3], kernel=[2, 2], stride=[2, 2])",
                "max_pool_dx(f64[1, 5, 2], f64[1, 5, 2], kernel=[3], pad=[1, 1], layout=nhwc)"},
};
