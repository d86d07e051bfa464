/* reduce_var.c - the variance over some axes, by two passes: mean, then squared distances. */
#include "op/util/formula.h"
#include "op/util/reduce.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

enum { CORRECTION = TAKT_REDUCE_KEEP + 1 };

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    double *mean = takt_arena_array(e->scratch, out->count, sizeof *mean);
    if (mean == NULL)
        return TAKT_ERR_MEMORY;
    const double count = out->count == 0 ? 0 : (double)(x->count / out->count);
    bool is_axis[TAKT_MAX_RANK];
    takt_walk walk;
    takt_walk_axes(&e->attr[TAKT_REDUCE_AXES], x->rank, is_axis);
    takt_walk_reduce(&walk, x, is_axis);
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++, takt_walk_next(&walk))
        mean[walk.at] += x->f[i] / count;
    takt_walk_reduce(&walk, x, is_axis);
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++, takt_walk_next(&walk))
        out->f[walk.at] += (x->f[i] - mean[walk.at]) * (x->f[i] - mean[walk.at]);
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++)
        out->f[i] /= count - (double)e->attr[CORRECTION].i64;
    return TAKT_OK;
}

/* x - mean, and the divisor count - correction; both f32 for f16 and bf16. */
static takt_id distance(takt_graph *g, takt_reduction r, int64_t correction, takt_id *divisor)
{
    r.x = takt_widen(g, r.x);
    r.keep = true;
    const takt_id away = takt_sub(g, r.x, takt_mean(g, &r));
    *divisor = takt_reduced_count(g, away, &r);
    if (correction != 0)
        *divisor = takt_add_scalar(g, *divisor, -(double)correction);
    return away;
}

/* 2 (x - mean) / (count - correction). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    const int64_t correction = takt_node_at(g, id)->attr[CORRECTION].i64;
    takt_id divisor;
    const takt_id away = distance(g, r, correction, &divisor);
    const takt_id slope = takt_div(g, takt_mul_scalar(g, away, 2), divisor);
    const takt_id wide = takt_mul(g, takt_widen(g, takt_unreduce(g, dy[0], &r)), slope);
    dx[0] = takt_cast(g, wide, takt_type_of(g, r.x)->dtype);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_reduction r = takt_reduction_of(n);
    const takt_dtype dtype = n->type[0].dtype;
    takt_id divisor;
    const takt_id away = distance(g, r, n->attr[CORRECTION].i64, &divisor);
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum_square, away, &r);
    out[0] = takt_cast(g, takt_div(g, sum, divisor), dtype);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 4, c);
}

const takt_op takt_op_reduce_var = {
    .name = "reduce_var",
    .summary = "the variance over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS, [CORRECTION] =
                                     {.name = "correction",
                                      .type = TAKT_ATTR_I64,
                                      .fallback.i64 = 0,
                                      .summary =
                                          "taken off the divisor: 1 for the unbiased estimate"}},
    .traits = TAKT_REDUCES,
    .dtypes = TAKT_FLOATS,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .samples = {"reduce_var(f32[2, 3])", "reduce_var(f64[3, 4, 5], axes=[1], correction=1)",
                "reduce_var(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_var(f16[5, 7], axes=[-1])", "reduce_var(f32[])"},
};
