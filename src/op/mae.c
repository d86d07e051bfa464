/* mae.c - the absolute error. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/formula.h"
#include "op/util/loss.h"

static double loss(const takt_attr *attr, double x, double t)
{
    (void)attr;
    return fabs(x - t);
}

static takt_status eval(takt_eval *e)
{
    return takt_loss_eval(e, loss);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_pair p = takt_loss_pair(g, n);
    const takt_id each = takt_unary(g, &takt_op_abs, takt_sub(g, p.x, p.t));
    out[0] = takt_loss_finish(g, n, each);
}

/* 0 at 0, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const takt_pair p = takt_loss_pair(g, &node);
    const takt_id slope = takt_unary(g, &takt_op_sign, takt_sub(g, p.x, p.t));
    dx[0] = takt_loss_grad(g, &node, dy[0], slope);
    dx[1] = takt_neg(g, dx[0]);
}

const takt_op takt_op_mae = {
    .name = "mae",
    .summary = "|prediction - target|, averaged",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"prediction", "target"},
    .attrs = {TAKT_LOSS_ATTR},
    .traits = TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .infer = takt_loss_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_loss_cost,
    .samples = {"mae(f32[2, 3], f32[2, 3])", "mae(f64[7], f64[7], reduction=sum)",
                "mae(f32[2, 2, 3], f32[2, 2, 3], reduction=none)", "mae(f16[5], f16[5])",
                "mae(f32[], f32[])"},
};
