/* bce.c - binary cross entropy, from a probability. */
#include <math.h>

#include "op/record/log1p.h"
#include "op/util/amp.h"
#include "op/util/formula.h"
#include "op/util/loss.h"

enum { FLOOR = -100 }; /* logarithms are clamped here, as in PyTorch: p = 0 is a large loss */

static takt_id floored(takt_graph *g, takt_id x)
{
    return takt_binary(g, &takt_op_max, x, takt_scalar_like(g, x, FLOOR));
}

static double loss(const takt_attr *attr, double x, double t)
{
    (void)attr;
    const double yes = fmax(log(x), FLOOR), no = fmax(log1p(-x), FLOOR);
    return -(t * yes + (1 - t) * no);
}

static takt_status eval(takt_eval *e)
{
    return takt_loss_eval(e, loss);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_pair p = takt_loss_pair(g, n);
    const takt_id yes = floored(g, takt_unary(g, &takt_op_log, p.x));
    const takt_id no = floored(g, takt_unary(g, &takt_op_log1p, takt_neg(g, p.x)));
    const takt_id rest = takt_sub(g, takt_scalar_like(g, p.t, 1), p.t);
    const takt_id gain = takt_add(g, takt_mul(g, p.t, yes), takt_mul(g, rest, no));
    out[0] = takt_loss_finish(g, n, takt_neg(g, gain));
}

/* (p - t) / (p (1 - p)), its divisor clamped above 0 as in PyTorch; log(1 - p) - log(p). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const takt_pair p = takt_loss_pair(g, &node);
    const takt_id rest = takt_sub(g, takt_scalar_like(g, p.x, 1), p.x);
    const takt_id least = takt_scalar_like(g, p.x, 1e-12);
    const takt_id spread = takt_binary(g, &takt_op_max, takt_mul(g, p.x, rest), least);
    const takt_id slope = takt_div(g, takt_sub(g, p.x, p.t), spread);
    dx[0] = takt_loss_grad(g, &node, dy[0], slope);
    const takt_id yes = floored(g, takt_unary(g, &takt_op_log, p.x));
    const takt_id no = floored(g, takt_unary(g, &takt_op_log1p, takt_neg(g, p.x)));
    dx[1] = takt_loss_grad(g, &node, dy[0], takt_sub(g, no, yes));
}

const takt_op takt_op_bce = {
    .name = "bce",
    .summary = "-(t * log(p) + (1 - t) * log(1 - p)), averaged",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"probability", "target"},
    .attrs = {TAKT_LOSS_ATTR},
    .traits = TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .infer = takt_loss_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_loss_cost,
    .samples = {"bce(f32[2, 3] in (0.1, 0.9), f32[2, 3] in (0, 1))",
                "bce(f64[7] in (0.1, 0.9), f64[7] in (0, 1), reduction=sum)",
                "bce(f32[2, 2, 3] in (0.1, 0.9), f32[2, 2, 3] in (0, 1), reduction=none)",
                "bce(f16[5] in (0.1, 0.9), f16[5] in (0, 1))",
                "bce(f32[] in (0.1, 0.9), f32[] in (0, 1))"},
};
