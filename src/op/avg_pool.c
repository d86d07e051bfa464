/* avg_pool.c - the mean of each window. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/pool.h"

static takt_status infer(takt_infer *in)
{
    return takt_pool_infer(in, in->type[0], &in->out[0]);
}

static void visit(void *user, const takt_pool_visit *window)
{
    const takt_eval *e = user;
    double sum = 0;
    for (size_t t = 0; t < window->tap_count; t++)
        sum += e->in[0].f[window->taps[t]];
    e->out[0].f[window->y] = window->divisor > 0 ? sum / window->divisor : 0;
}

static takt_status eval(takt_eval *e)
{
    return takt_pool_each(e, &e->in[0], &e->out[0], visit, e);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_pool_make(g, &takt_op_avg_pool_dx, &n, 1, dy, takt_type_of(g, n.in[0]));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_pool_cost(g, n, &n->type[0], cost);
}

const takt_op takt_op_avg_pool = {
    .name = "avg_pool",
    .summary = "the mean of each window",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_POOL_ATTRS, TAKT_POOL_COUNT_ATTR},
    .traits = TAKT_PRIMITIVE | TAKT_REDUCES | TAKT_AMP_FOLLOWS,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_sum,
    .error.roundings = takt_roundings_pool,
    .affine = 1,
    .samples = {"avg_pool(f32[2, 3, 6, 7], kernel=[2, 2], stride=[2, 2])",
                "avg_pool(f32[1, 5, 7, 2], kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], "
                "layout=nhwc)",
                "avg_pool(f64[2, 1, 8], kernel=[3], stride=[3], pad=[1, 1], ceil=true, "
                "count_pad=true)",
                "avg_pool(f32[1, 1, 4, 5, 4], kernel=[2, 3, 2], dilation=[2, 1, 1])"},
};
