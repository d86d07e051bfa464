/* hard_sigmoid.c - a straight line, cut off at 0 and 1. */
#include "op/util/formula.h"

enum { ALPHA, BETA };

static double eval_f(takt_scalar *s, const double *x)
{
    const double y = s->attr[ALPHA].f64 * x[0] + s->attr[BETA].f64;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

/* alpha between the corners, 0 at and beyond them, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const double alpha = takt_node_at(g, id)->attr[ALPHA].f64;
    const takt_id is_inside =
        takt_binary(g, &takt_op_and, takt_is_above(g, id, 0), takt_is_below(g, id, 1));
    dx[0] = takt_keep_where(g, is_inside, takt_mul_scalar(g, dy[0], alpha));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id line = takt_mul_scalar(g, n->in[0], n->attr[ALPHA].f64);
    out[0] = takt_clamp(g, takt_add_scalar(g, line, n->attr[BETA].f64), 0, 1);
}

const takt_op takt_op_hard_sigmoid = {
    .name = "hard_sigmoid",
    .summary = "alpha * x + beta, between 0 and 1",
    .onnx = {{"HardSigmoid", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[ALPHA] = {.name = "alpha",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 0.2,
                         .summary = "the slope; PyTorch has 1/6"},
              [BETA] = {.name = "beta",
                        .type = TAKT_ATTR_F64,
                        .fallback.f64 = 0.5,
                        .summary = "the value at 0"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 4,
    .samples = {"hard_sigmoid(f32[2, 3] in (-5, 5))", "hard_sigmoid(f64[7] in (-5, 5))",
                "hard_sigmoid(f16[1, 5, 2] in (-5, 5))", "hard_sigmoid(f32[] in (-5, 5))",
                "hard_sigmoid(f32[7] in (-4, 4), alpha=0.16666667)"},
};
