/* avg_pool_dx.c - gradient of avg_pool: each window's dy is distributed evenly. */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/pool.h"

static takt_status infer(takt_infer *in)
{
    takt_type *x = &in->out[0], y;
    x->dtype = in->type[0]->dtype;
    TAKT_TRY(takt_check_set_shape(in, TAKT_POOL_SHAPE, x));
    TAKT_TRY(takt_pool_infer(in, x, &y));
    return takt_check_shape(in, 0, &y, "avg_pool of this shape");
}

static void visit(void *user, const takt_pool_visit *window)
{
    const takt_eval *e = user;
    for (size_t t = 0; t < window->tap_count; t++)
        e->out[0].f[window->taps[t]] += e->in[0].f[window->y] / window->divisor;
}

static takt_status eval(takt_eval *e)
{
    return takt_pool_each(e, &e->out[0], &e->in[0], visit, e);
}

/* Linear in dy: its adjoint is the pool itself. */
static void grad(takt_graph *g, takt_id id, const takt_id *t, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_pool_make(g, &takt_op_avg_pool, &n, 1, t, NULL);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_pool_cost(g, n, takt_type_of(g, n->in[0]), cost);
}

const takt_op takt_op_avg_pool_dx = {
    .name = "avg_pool_dx",
    .summary = "gradient of avg_pool: dy shared out evenly over each window",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"dy"},
    .attrs = {TAKT_POOL_ATTRS, TAKT_POOL_COUNT_ATTR,
              [TAKT_POOL_SHAPE] = {.name = "shape",
                                   .type = TAKT_ATTR_SHAPE,
                                   .is_required = true,
                                   .summary = "the shape of x"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_sum,
    .error.roundings = takt_roundings_pool,
    .affine = 1,
    .samples = {"avg_pool_dx(f32[2, 3, 3, 3], kernel=[2, 2], stride=[2, 2], shape=[2, 3, 6, 7])",
                "avg_pool_dx(f64[1, 5, 2], kernel=[3], pad=[1, 1], count_pad=true, layout=nhwc, "
                "shape=[1, 5, 2])"},
};
