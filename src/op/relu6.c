/* relu6.c - x clamped to 0 and 6. */
#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] < 0 ? 0 : x[0] > 6 ? 6 : x[0];
}

/* 1 between 0 and 6, 0 at and beyond them, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id is_inside =
        takt_binary(g, &takt_op_and, takt_is_above(g, id, 0), takt_is_below(g, id, 6));
    dx[0] = takt_keep_where(g, is_inside, dy[0]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id six = takt_scalar_like(g, n->in[0], 6);
    out[0] = takt_binary(g, &takt_op_min, takt_unary(g, &takt_op_relu, n->in[0]), six);
}

static void relax(takt_relaxing *r)
{
    takt_relax_clip(r, 0, 6);
}

const takt_op takt_op_relu6 = {
    .name = "relu6",
    .summary = "x, at least 0 and at most 6",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 2,
    .relax = relax,
    .samples = {"relu6(f32[2, 3] in (-3, 9))", "relu6(f64[7] in (-3, 9))",
                "relu6(f16[1, 5, 2] in (-3, 9))", "relu6(f32[] in (-3, 9))"},
};
