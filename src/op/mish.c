/* mish.c - x * tanh(softplus(x)). */
#include <math.h>

#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] * tanh(x[0] > 40 ? x[0] : log1p(exp(x[0])));
}

/* t + x sigmoid(x) (1 - t^2), with t = tanh(softplus(x)). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id sigmoid = takt_unary(g, &takt_op_sigmoid, x);
    const takt_id t = takt_unary(g, &takt_op_tanh, takt_softplus(g, x));
    const takt_id bend = takt_sub(g, takt_scalar_like(g, x, 1), takt_square(g, t));
    const takt_id slope = takt_add(g, t, takt_mul(g, takt_mul(g, x, sigmoid), bend));
    dx[0] = takt_mul(g, dy[0], slope);
}

/* With e = exp(x), tanh(log(1 + e)) = m / (m + 2) where m = e (e + 2). The quotient is 1 to the
 * last bit from x = 20 on (f16: 5), where e is clamped so that m does not overflow. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const bool is_f16 = n->type[0].dtype == TAKT_F16;
    const takt_id top = takt_scalar_like(g, x, is_f16 ? 5 : 20);
    const takt_id e = takt_unary(g, &takt_op_exp, takt_binary(g, &takt_op_min, x, top));
    const takt_id m = takt_mul(g, e, takt_add_scalar(g, e, 2));
    out[0] = takt_mul(g, x, takt_div(g, m, takt_add_scalar(g, m, 2)));
}

const takt_op takt_op_mish = {
    .name = "mish",
    .summary = "x * tanh(log(1 + exp(x)))",
    .onnx = {{"Mish", 18, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 16,
    .samples = {"mish(f32[2, 3] in (-3, 3))", "mish(f64[7] in (-3, 3))",
                "mish(f16[1, 5, 2] in (-3, 3))", "mish(f32[] in (-3, 3))",
                "mish(f32[5] in (15, 90))"},
};
