/* kl_div.c - the Kullback-Leibler divergence from a distribution given by logarithms. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/formula.h"
#include "op/util/loss.h"

static double loss(const takt_attr *attr, double x, double t)
{
    (void)attr;
    return t > 0 ? t * (log(t) - x) : 0;
}

static takt_status eval(takt_eval *e)
{
    return takt_loss_eval(e, loss);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_pair p = takt_loss_pair(g, n);
    const takt_id gap = takt_sub(g, takt_unary(g, &takt_op_log, p.t), p.x);
    const takt_id each = takt_keep_where(g, takt_is_above(g, p.t, 0), takt_mul(g, p.t, gap));
    out[0] = takt_loss_finish(g, n, each);
}

/* -t, and log(t) - x + 1. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const takt_pair p = takt_loss_pair(g, &node);
    dx[0] = takt_loss_grad(g, &node, dy[0], takt_neg(g, p.t));
    const takt_id gap = takt_sub(g, takt_unary(g, &takt_op_log, p.t), p.x);
    const takt_id slope = takt_keep_where(g, takt_is_above(g, p.t, 0), takt_add_scalar(g, gap, 1));
    dx[1] = takt_loss_grad(g, &node, dy[0], slope);
}

const takt_op takt_op_kl_div = {
    .name = "kl_div",
    .summary = "t * (log(t) - x), 0 where t is 0, averaged",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"log_probability", "target"},
    .attrs = {TAKT_LOSS_ATTR},
    .traits = TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .infer = takt_loss_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_loss_cost,
    .samples = {"kl_div(f32[2, 3] in (-4, -0.1), f32[2, 3] in (0.1, 0.9))",
                "kl_div(f64[7] in (-4, -0.1), f64[7] in (0.1, 0.9), reduction=sum)",
                "kl_div(f32[2, 2, 3] in (-4, -0.1), f32[2, 2, 3] in (0.1, 0.9), reduction=none)",
                "kl_div(f16[5] in (-4, -0.1), f16[5] in (0.1, 0.9))",
                "kl_div(f32[] in (-4, -0.1), f32[] in (0.1, 0.9))"},
};
