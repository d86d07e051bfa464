/* reduce_log_sum_exp.c - log of the sum of exponentials over some axes, without overflow. */
#include <math.h>

#include "op/util/reduce.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

/* Infinite maxima are not subtracted: inf - inf would be NaN. */
static double shift(double greatest)
{
    return isfinite(greatest) ? greatest : 0;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    bool is_axis[TAKT_MAX_RANK];
    takt_walk_axes(&e->attr[TAKT_REDUCE_AXES], x->rank, is_axis);
    double *most = takt_arena_array(e->scratch, out->count, sizeof *most);
    if (most == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++)
        most[i] = -INFINITY;
    takt_walk walk;
    takt_walk_reduce(&walk, x, is_axis);
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++, takt_walk_next(&walk))
        most[walk.at] = x->f[i] > most[walk.at] ? x->f[i] : most[walk.at];
    takt_walk_reduce(&walk, x, is_axis);
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++, takt_walk_next(&walk))
        out->f[walk.at] += exp(x->f[i] - shift(most[walk.at]));
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++)
        out->f[i] = log(out->f[i]) + shift(most[i]);
    return TAKT_OK;
}

/* exp(x - y), the softmax. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    const takt_id softmax = takt_unary(g, &takt_op_exp, takt_sub(g, r.x, takt_unreduce(g, id, &r)));
    dx[0] = takt_mul(g, takt_unreduce(g, dy[0], &r), softmax);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_reduction r = takt_reduction_of(n);
    takt_reduction kept = r;
    kept.keep = true;
    const takt_id most = takt_reduce_by(g, &takt_op_reduce_max, r.x, &kept);
    const takt_id is_inf = takt_unary(g, &takt_op_is_inf, most);
    const takt_id shift = takt_select(g, is_inf, takt_scalar_like(g, most, 0), most);
    const takt_id powers = takt_unary(g, &takt_op_exp, takt_sub(g, r.x, shift));
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, powers, &kept);
    const takt_id sized = takt_add(g, takt_unary(g, &takt_op_log, sum), shift);
    out[0] = takt_reshape(g, sized, n->type[0].dim, (size_t)n->type[0].rank);
}

const takt_op takt_op_reduce_log_sum_exp = {
    .name = "reduce_log_sum_exp",
    .summary = "log(sum of exp(x)) over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS},
    .traits = TAKT_REDUCES,
    .dtypes = TAKT_FLOATS,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_reduce_cost,
    .samples = {"reduce_log_sum_exp(f32[2, 3])", "reduce_log_sum_exp(f64[3, 4, 5], axes=[1])",
                "reduce_log_sum_exp(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_log_sum_exp(f16[5, 7], axes=[-1])", "reduce_log_sum_exp(f32[])"},
};
