/* max_pool.c - the largest element of each window; padding never wins, NaN always does. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/index.h"
#include "op/util/pool.h"

#include <math.h>

static takt_status infer(takt_infer *in)
{
    return takt_pool_infer(in, in->type[0], &in->out[0]);
}

static void visit(void *user, const takt_pool_visit *window)
{
    const takt_eval *e = user;
    takt_array *y = &e->out[0];
    if (window->tap_count > 0)
        takt_index_move(y, window->y, &e->in[0], takt_pool_largest(&e->in[0], window));
    else if (takt_dtype_is_float(y->dtype))
        y->f[window->y] = -INFINITY; /* taps spread by dilation can all miss a small input */
    else
        y->i[window->y] = takt_dtype_from_double(y->dtype, -INFINITY);
}

static takt_status eval(takt_eval *e)
{
    return takt_pool_each(e, &e->in[0], &e->out[0], visit, e);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    dx[0] = takt_pool_make(g, &takt_op_max_pool_dx, &n, 2, (takt_id[]){n.in[0], dy[0]}, NULL);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    takt_pool_cost(g, n, &n->type[0], cost);
}

const takt_op takt_op_max_pool = {
    .name = "max_pool",
    .summary = "the largest element of each window",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_POOL_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_REDUCES | TAKT_AMP_FOLLOWS,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .cost = cost,
    .bound = takt_bound_exact,
    .samples = {"max_pool(f32[2, 3, 6, 7], kernel=[2, 2], stride=[2, 2])",
                "max_pool(f32[1, 5, 7, 2], kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], "
                "layout=nhwc)",
                "max_pool(f64[2, 1, 8], kernel=[3], stride=[3], ceil=true)",
                "max_pool(f32[1, 1, 4, 5, 4], kernel=[2, 3, 2], dilation=[2, 1, 1])",
                "max_pool(u8[1, 2, 5, 5] in (0, 255), kernel=[3, 2], pad=[2, 0, 1, 1])"},
};
