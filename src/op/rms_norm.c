/* rms_norm.c - x divided by its root mean square over the last axes, then gamma. */
#include "op/util/formula.h"
#include "op/util/last_axes.h"

static takt_status eval(takt_eval *e)
{
    return takt_last_axes_eval(e, false);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node node = *takt_node_at(g, id); /* a copy: nodes move as the graph grows */
    takt_last_axes_grad(g, &node, false, dy[0], dx);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_last_axes_lower(g, n, false);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 5, c);
}

const takt_op takt_op_rms_norm = {
    .name = "rms_norm",
    .summary = "x divided by its root mean square over the last axes, times gamma",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "gamma"},
    .attrs = {TAKT_LAST_AXES_ATTRS},
    .traits = TAKT_WIDENS,
    .dtypes = TAKT_FLOATS,
    .infer = takt_last_axes_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .samples = {"rms_norm(f32[2, 5], f32[5])", "rms_norm(f64[3, 7], f64[])",
                "rms_norm(f32[2, 3, 4], f32[3, 4], axis=1)",
                "rms_norm(f16[4, 6], f16[6], epsilon=0.001)", "rms_norm(bf16[2, 8], bf16[8])"},
};
