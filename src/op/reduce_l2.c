/* reduce_l2.c - the square root of the sum of squares over some axes. */
#include <math.h>

#include "op/util/formula.h"
#include "op/util/reduce.h"

static double add(double sum, double x)
{
    return sum + x * x;
}

static double root(double sum, double count)
{
    (void)count;
    return sqrt(sum);
}

static const takt_fold fold = {.f = add, .finish = root};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

/* x / y, and 0 where all x are 0. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    const takt_id norm = takt_unreduce(g, id, &r);
    const takt_id is_zero = takt_binary(g, &takt_op_eq, norm, takt_scalar_like(g, norm, 0));
    const takt_id safe = takt_select(g, is_zero, takt_scalar_like(g, norm, 1), norm);
    dx[0] = takt_mul(g, takt_unreduce(g, dy[0], &r), takt_div(g, r.x, safe));
}

/* f16 and bf16 in f32, rounded once: squares of modest numbers overflow f16. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_reduction r = takt_reduction_of(n);
    const takt_dtype dtype = n->type[0].dtype;
    const takt_id squares = takt_square(g, takt_widen(g, r.x));
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, squares, &r);
    out[0] = takt_cast(g, takt_unary(g, &takt_op_sqrt, sum), dtype);
}

const takt_op takt_op_reduce_l2 = {
    .name = "reduce_l2",
    .summary = "the Euclidean norm over axes",
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
    .samples = {"reduce_l2(f32[2, 3])", "reduce_l2(f64[3, 4, 5], axes=[1])",
                "reduce_l2(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_l2(f16[5, 7], axes=[-1])", "reduce_l2(f32[])"},
};
