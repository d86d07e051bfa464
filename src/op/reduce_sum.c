/* reduce_sum.c - the sum over some axes; 0 over no elements, integers wrap. */
#include "op/util/bound.h"
#include "op/util/reduce.h"

static double add_f(double sum, double x)
{
    return sum + x;
}

static int64_t add_i(takt_dtype dtype, int64_t sum, int64_t x)
{
    (void)dtype;
    return (int64_t)((uint64_t)sum + (uint64_t)x);
}

static const takt_fold fold = {.f = add_f, .i = add_i};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    dx[0] = takt_broadcast_like(g, takt_unreduce(g, dy[0], &r), r.x);
}

const takt_op takt_op_reduce_sum = {
    .name = "reduce_sum",
    .summary = "the sum over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS},
    .traits = TAKT_REDUCES | TAKT_PRIMITIVE,
    .dtypes = TAKT_NUMBERS,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = grad,
    .cost = takt_reduce_cost,
    .bound = takt_bound_sum,
    .error.roundings = takt_roundings_reduce,
    .affine = 1,
    .samples = {"reduce_sum(f32[2, 3])", "reduce_sum(f64[3, 4, 5], axes=[1])",
                "reduce_sum(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_sum(f16[5, 7], axes=[-1])", "reduce_sum(f32[])",
                "reduce_sum(i32[4, 3], axes=[0])", "reduce_sum(u8[6])"},
};
