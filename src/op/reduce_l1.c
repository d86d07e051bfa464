/* reduce_l1.c - the sum of absolute values over some axes. */
#include <math.h>

#include "op/util/reduce.h"

static double add_f(double sum, double x)
{
    return sum + fabs(x);
}

static int64_t add_i(takt_dtype dtype, int64_t sum, int64_t x)
{
    const bool negative = takt_dtype_is_signed(dtype) && x < 0;
    const uint64_t size =
        (uint64_t)takt_dtype_wrap(dtype, (int64_t)(negative ? 0 - (uint64_t)x : (uint64_t)x));
    return (int64_t)((uint64_t)sum + size);
}

static const takt_fold fold = {.f = add_f, .i = add_i};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

/* 0 at 0. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    dx[0] = takt_mul(g, takt_unreduce(g, dy[0], &r), takt_unary(g, &takt_op_sign, r.x));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_reduction r = takt_reduction_of(n);
    out[0] = takt_reduce_by(g, &takt_op_reduce_sum, takt_unary(g, &takt_op_abs, r.x), &r);
}

const takt_op takt_op_reduce_l1 = {
    .name = "reduce_l1",
    .summary = "the sum of |x| over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS},
    .traits = TAKT_REDUCES,
    .dtypes = TAKT_NUMBERS,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = takt_reduce_cost,
    .samples = {"reduce_l1(f32[2, 3])", "reduce_l1(f64[3, 4, 5], axes=[1])",
                "reduce_l1(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_l1(f16[5, 7], axes=[-1])", "reduce_l1(f32[])",
                "reduce_l1(i32[4, 3], axes=[0])", "reduce_l1(u8[6])"},
};
