/* reduce_mean.c - the arithmetic mean over some axes: sum / count. */
#include "op/util/reduce.h"

static double add(double sum, double x)
{
    return sum + x;
}

static double divide(double sum, double count)
{
    return sum / count;
}

static const takt_fold fold = {.f = add, .finish = divide};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    const takt_id share = takt_div(g, dy[0], takt_reduced_count(g, dy[0], &r));
    dx[0] = takt_broadcast_like(g, takt_unreduce(g, share, &r), r.x);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_reduction r = takt_reduction_of(n);
    out[0] = takt_mean(g, &r);
}

const takt_op takt_op_reduce_mean = {
    .name = "reduce_mean",
    .summary = "the mean over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS},
    .traits = TAKT_REDUCES,
    .dtypes = TAKT_FLOATS,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_reduce_cost,
    .samples = {"reduce_mean(f32[2, 3])", "reduce_mean(f64[3, 4, 5], axes=[1])",
                "reduce_mean(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_mean(f16[5, 7], axes=[-1])", "reduce_mean(f32[])"},
};
