/* hard_swish.c - x * clip(x + 3, 0, 6) / 6. */
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    const double y = (x[0] + 3) / 6;
    return x[0] * (y < 0 ? 0 : y > 1 ? 1 : y);
}

/* 0 below -3, x / 3 + 1/2 from there to 3, then 1, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id slope = takt_add_scalar(g, takt_mul_scalar(g, x, 1.0 / 3), 0.5);
    const takt_id middle = takt_select(g, takt_is_above(g, x, 3), dy[0], takt_mul(g, dy[0], slope));
    const takt_id is_off = takt_is_below(g, x, -3);
    dx[0] = takt_select(g, is_off, takt_scalar_like(g, x, 0), middle);
}

/* The quotient is exact at 6, so x comes out unchanged from 3 on. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id line = takt_clamp(g, takt_add_scalar(g, x, 3), 0, 6);
    out[0] = takt_mul(g, x, takt_div(g, line, takt_scalar_like(g, x, 6)));
}

const takt_op takt_op_hard_swish = {
    .name = "hard_swish",
    .summary = "x * clip(x + 3, 0, 6) / 6",
    .onnx = {{"HardSwish", 14, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_WIDENS,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 5,
    .samples = {"hard_swish(f32[2, 3] in (-5, 5))", "hard_swish(f64[7] in (-5, 5))",
                "hard_swish(f16[1, 5, 2] in (-5, 5))", "hard_swish(f32[] in (-5, 5))"},
};
