/* norm_dx.c - gradient of layer_norm and rms_norm with respect to x. */
#include "op/util/formula.h"
#include "op/util/last_axes.h"

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_last_axes_dx(g, n);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 14, c);
}

const takt_op takt_op_norm_dx = {
    .name = "norm_dx",
    .summary = "gradient of layer_norm (centred) or rms_norm by x",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "gamma", "dy"},
    .attrs = {TAKT_LAST_AXES_ATTRS, TAKT_LAST_AXES_CENTRED},
    .dtypes = TAKT_FLOATS,
    .infer = takt_last_axes_infer_dx,
    .lower = lower,
    .cost = cost,
    .samples = {"norm_dx(f32[2, 5], f32[5], f32[2, 5])",
                "norm_dx(f64[3, 7], f64[], f64[3, 7], centred=false)",
                "norm_dx(f32[2, 3, 4], f32[3, 4], f32[2, 3, 4], axis=1)",
                "norm_dx(f16[4, 6], f16[6], f16[4, 6], epsilon=0.001)",
                "norm_dx(f32[3, 70], f32[70], f32[3, 70], centred=false)"},
};
