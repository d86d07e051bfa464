/* reduce_sum_square.c - the sum of squares over some axes; integers wrap.
 *
 * A primitive, because its order of arithmetic is its own: lane = fma(x, x, lane).
 */
#include "op/util/formula.h"
#include "op/util/reduce.h"

static double add_f(double sum, double x)
{
    return sum + x * x;
}

static int64_t add_i(takt_dtype dtype, int64_t sum, int64_t x)
{
    (void)dtype;
    return (int64_t)((uint64_t)sum + (uint64_t)x * (uint64_t)x);
}

static const takt_fold fold = {.f = add_f, .i = add_i};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_reduction r = takt_reduction_of(takt_node_at(g, id));
    dx[0] = takt_mul(g, takt_unreduce(g, dy[0], &r), takt_mul_scalar(g, r.x, 2));
}

const takt_op takt_op_reduce_sum_square = {
    .name = "reduce_sum_square",
    .summary = "the sum of x * x over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_REDUCES,
    .dtypes = TAKT_NUMBERS,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = grad,
    .cost = takt_reduce_cost,
    .samples = {"reduce_sum_square(f32[2, 3])", "reduce_sum_square(f64[3, 4, 5], axes=[1])",
                "reduce_sum_square(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_sum_square(f16[5, 7], axes=[-1])", "reduce_sum_square(f32[])",
                "reduce_sum_square(i32[4, 3], axes=[0])", "reduce_sum_square(u8[6])"},
};
