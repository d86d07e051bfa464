/* reduce_sum_square.c - the sum of squares over some axes; integers wrap.
 *
 * A primitive, because its order of arithmetic is specific: lane = fma(x, x, lane).
 */
#include "op/util/bound.h"
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

static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_node *n = b->node;
    const takt_range x = takt_bound_wide(b, 0);
    const takt_id near =
        takt_bound_max(b, takt_bound_max(b, x.lo, takt_neg(g, x.hi)), takt_bound_number(b, 0));
    const takt_id most = takt_bound_call(b, &(takt_id){takt_bound_magnitude(b, x)}, 0);
    const takt_dtype dtype = n->type[0].dtype;
    const double count = n->op->error.roundings(b->model, n) + 1;
    const double share =
        takt_grid_gamma(TAKT_F64, count) +
        (takt_dtype_is_float(dtype) && !b->is_real ? takt_grid_gamma(dtype, count) : 0);
    const takt_id total = takt_bound_overflow(b, most, dtype);
    const takt_id error = takt_add_scalar(g, takt_mul_scalar(g, total, share * 1.0001), 0x1p-120);
    takt_bound_set(b, 0, takt_bound_call(b, &near, 0), most, 0, error);
    if (takt_dtype_is_float(dtype))
        b->out[0].lo = takt_bound_max(b, b->out[0].lo, takt_bound_number(b, 0));
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
    .bound = bound,
    .error.roundings = takt_roundings_reduce,
    .samples = {"reduce_sum_square(f32[2, 3])", "reduce_sum_square(f64[3, 4, 5], axes=[1])",
                "reduce_sum_square(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_sum_square(f16[5, 7], axes=[-1])", "reduce_sum_square(f32[])",
                "reduce_sum_square(i32[4, 3], axes=[0])", "reduce_sum_square(u8[6])"},
};
