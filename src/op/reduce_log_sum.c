/* reduce_log_sum.c - the logarithm of the sum over some axes. */
#include <math.h>

#include "op/util/reduce.h"

static double add(double sum, double x)
{
    return sum + x;
}

static double logarithm(double sum, double count)
{
    (void)count;
    return log(sum);
}

static const takt_fold fold = {.f = add, .finish = logarithm};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, r.x, &r);
    const takt_id share = takt_div(g, dy[0], sum);
    dx[0] = takt_broadcast_like(g, takt_unreduce(g, share, &r), r.x);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_reduction r = takt_reduction_of(n);
    out[0] = takt_unary(g, &takt_op_log, takt_reduce_by(g, &takt_op_reduce_sum, r.x, &r));
}

const takt_op takt_op_reduce_log_sum = {
    .name = "reduce_log_sum",
    .summary = "log(sum of x) over axes",
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
    .samples = {"reduce_log_sum(f32[2, 3] in (0.1, 3))",
                "reduce_log_sum(f64[3, 4, 5] in (0.1, 3), axes=[1])",
                "reduce_log_sum(f32[2, 3, 4] in (0.1, 3), axes=[0, -1], keep=true)",
                "reduce_log_sum(f16[5, 7] in (0.1, 3), axes=[-1])",
                "reduce_log_sum(f32[] in (0.1, 3))"},
};
