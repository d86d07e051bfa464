/* bce_logits.c - binary cross entropy, from a logit. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/formula.h"
#include "op/util/loss.h"

static double loss(const takt_attr *attr, double x, double t)
{
    (void)attr;
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x))) - x * t;
}

static takt_status eval(takt_eval *e)
{
    return takt_loss_eval(e, loss);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_pair p = takt_loss_pair(g, n);
    const takt_id each = takt_sub(g, takt_softplus(g, p.x), takt_mul(g, p.x, p.t));
    out[0] = takt_loss_finish(g, n, each);
}

/* sigmoid(x) - t, and -x. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const takt_pair p = takt_loss_pair(g, &node);
    const takt_id slope = takt_sub(g, takt_unary(g, &takt_op_sigmoid, p.x), p.t);
    dx[0] = takt_loss_grad(g, &node, dy[0], slope);
    dx[1] = takt_loss_grad(g, &node, dy[0], takt_neg(g, p.x));
}

const takt_op takt_op_bce_logits = {
    .name = "bce_logits",
    .summary = "softplus(logit) - logit * target, averaged",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"logits", "target"},
    .attrs = {TAKT_LOSS_ATTR},
    .traits = TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .infer = takt_loss_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_loss_cost,
    .samples = {"bce_logits(f32[2, 3] in (-4, 4), f32[2, 3] in (0, 1))",
                "bce_logits(f64[7] in (-4, 4), f64[7] in (0, 1), reduction=sum)",
                "bce_logits(f32[2, 2, 3] in (-4, 4), f32[2, 2, 3] in (0, 1), reduction=none)",
                "bce_logits(f16[5] in (-4, 4), f16[5] in (0, 1))",
                "bce_logits(f32[] in (-4, 4), f32[] in (0, 1))"},
};
