/* shrink.c - moves x towards 0 by bias; 0 within lambd of 0. */
#include "op/util/formula.h"

enum { BIAS, LAMBD };

static double eval_f(takt_scalar *s, const double *x)
{
    const double limit = s->attr[LAMBD].f64, bias = s->attr[BIAS].f64;
    return x[0] < -limit ? x[0] + bias : x[0] > limit ? x[0] - bias : 0;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const double limit = takt_node_at(g, id)->attr[LAMBD].f64;
    const takt_id is_outside =
        takt_binary(g, &takt_op_or, takt_is_below(g, x, -limit), takt_is_above(g, x, limit));
    dx[0] = takt_keep_where(g, is_outside, dy[0]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const double limit = n->attr[LAMBD].f64, bias = n->attr[BIAS].f64;
    const takt_id above =
        takt_keep_where(g, takt_is_above(g, x, limit), takt_add_scalar(g, x, -bias));
    out[0] = takt_select(g, takt_is_below(g, x, -limit), takt_add_scalar(g, x, bias), above);
}

const takt_op takt_op_shrink = {
    .name = "shrink",
    .summary = "x - bias above lambd, x + bias below -lambd, else 0",
    .onnx = {{"Shrink", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[BIAS] = {.name = "bias",
                        .type = TAKT_ATTR_F64,
                        .fallback.f64 = 0,
                        .summary = "how far outer values move"},
              [LAMBD] = {.name = "lambd",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 0.5,
                         .summary = "the half width of the zero"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 3,
    .samples = {"shrink(f32[2, 3] in (-3, 3))", "shrink(f64[7] in (-3, 3))",
                "shrink(f16[1, 5, 2] in (-3, 3))", "shrink(f32[] in (-3, 3))",
                "shrink(f32[5], bias=0.25, lambd=1)"},
};
