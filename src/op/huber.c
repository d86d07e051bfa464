/* huber.c - squared error near 0, absolute error farther out. */
#include <math.h>

#include "ir/infer.h"
#include "op/util/amp.h"
#include "op/util/formula.h"
#include "op/util/loss.h"

enum { DELTA = TAKT_LOSS_REDUCTION + 1 };

static takt_status infer(takt_infer *in)
{
    if (!(in->attr[DELTA].f64 > 0))
        return takt_infer_fail(in, TAKT_E_ATTR, "delta must be positive, but is %g",
                               in->attr[DELTA].f64);
    return takt_loss_infer(in);
}

static double loss(const takt_attr *attr, double x, double t)
{
    const double delta = attr[DELTA].f64, size = fabs(x - t);
    return size <= delta ? 0.5 * size * size : delta * (size - 0.5 * delta);
}

static takt_status eval(takt_eval *e)
{
    return takt_loss_eval(e, loss);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_pair p = takt_loss_pair(g, n);
    const double delta = n->attr[DELTA].f64;
    const takt_id size = takt_unary(g, &takt_op_abs, takt_sub(g, p.x, p.t));
    const takt_id near = takt_mul_scalar(g, takt_square(g, size), 0.5);
    const takt_id far = takt_mul_scalar(g, takt_add_scalar(g, size, -0.5 * delta), delta);
    out[0] = takt_loss_finish(g, n, takt_select(g, takt_is_above(g, size, delta), far, near));
}

/* The difference, clamped to -delta and delta. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    const takt_pair p = takt_loss_pair(g, &node);
    const double delta = node.attr[DELTA].f64;
    const takt_id slope = takt_clamp(g, takt_sub(g, p.x, p.t), -delta, delta);
    dx[0] = takt_loss_grad(g, &node, dy[0], slope);
    dx[1] = takt_neg(g, dx[0]);
}

const takt_op takt_op_huber = {
    .name = "huber",
    .summary = "d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), averaged",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"prediction", "target"},
    .attrs = {TAKT_LOSS_ATTR, [DELTA] = {.name = "delta",
                                         .type = TAKT_ATTR_F64,
                                         .fallback.f64 = 1,
                                         .summary = "where the parabola ends"}},
    .traits = TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_loss_cost,
    .samples = {"huber(f32[2, 3], f32[2, 3])", "huber(f64[7], f64[7], reduction=sum, delta=0.5)",
                "huber(f32[2, 2, 3], f32[2, 2, 3], reduction=none)",
                "huber(f16[5], f16[5], delta=0.5)", "huber(f32[], f32[])"},
};
