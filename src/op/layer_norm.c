/* layer_norm.c - mean 0 and variance 1 over the last axes, then gamma and beta. */
#include "op/util/formula.h"
#include "op/util/last_axes.h"

static takt_status eval(takt_eval *e)
{
    return takt_last_axes_eval(e, true);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    takt_last_axes_grad(g, &node, true, dy[0], dx);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_last_axes_lower(g, n, true);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 8, c);
}

const takt_op takt_op_layer_norm = {
    .name = "layer_norm",
    .summary = "mean 0 and variance 1 over the last axes, times gamma, plus beta",
    .in_min = 2,
    .in_max = 3,
    .in_names = {"x", "gamma", "beta"},
    .attrs = {TAKT_LAST_AXES_ATTRS},
    .traits = TAKT_WIDENS,
    .dtypes = TAKT_FLOATS,
    .infer = takt_last_axes_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .samples = {"layer_norm(f32[2, 5], f32[5], f32[5])", "layer_norm(f64[3, 7], f64[], f64[1])",
                "layer_norm(f32[2, 3, 4], f32[3, 4], f32[4], axis=1)",
                "layer_norm(f16[4, 6], f16[6], epsilon=0.001)", "layer_norm(f32[8], f32[8])"},
};
