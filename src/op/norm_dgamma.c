/* norm_dgamma.c - dy times the normalised x: the gradient of gamma before summation. */
#include "op/util/formula.h"
#include "op/util/last_axes.h"

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_last_axes_dgamma(g, n);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 7, c);
}

const takt_op takt_op_norm_dgamma = {
    .name = "norm_dgamma",
    .summary = "dy times x as layer_norm (centred) or rms_norm normalises it",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "dy"},
    .attrs = {TAKT_LAST_AXES_ATTRS, TAKT_LAST_AXES_CENTRED},
    .dtypes = TAKT_FLOATS,
    .infer = takt_last_axes_infer_dx,
    .lower = lower,
    .cost = cost,
    .samples = {"norm_dgamma(f32[2, 5], f32[2, 5])",
                "norm_dgamma(f64[3, 7], f64[3, 7], centred=false)",
                "norm_dgamma(f32[2, 3, 4], f32[2, 3, 4], axis=1)",
                "norm_dgamma(f16[4, 6], f16[4, 6], epsilon=0.001)",
                "norm_dgamma(f32[3, 70], f32[3, 70], centred=false)"},
};
