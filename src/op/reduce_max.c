/* reduce_max.c - the greatest element over some axes; NaN if there is one.
 *
 * Over no elements it is -inf, or the least integer.
 */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/reduce.h"

static double max_f(double best, double x)
{
    if (isnan(best) || isnan(x))
        return best + x;
    if (best == x)
        return signbit(best) ? x : best;
    return x > best ? x : best;
}

static int64_t max_i(takt_dtype dtype, int64_t best, int64_t x)
{
    const bool wins = dtype == TAKT_U64 ? (uint64_t)x > (uint64_t)best : x > best;
    return wins ? x : best;
}

static const takt_fold fold = {.start = -INFINITY, .f = max_f, .i = max_i};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

const takt_op takt_op_reduce_max = {
    .name = "reduce_max",
    .summary = "the greatest element over axes",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_REDUCE_ATTRS},
    .traits = TAKT_REDUCES | TAKT_PRIMITIVE,
    .dtypes = TAKT_COMPUTE,
    .infer = takt_reduce_infer,
    .eval = eval,
    .grad = takt_reduce_best_grad,
    .cost = takt_reduce_cost,
    .bound = takt_bound_exact,
    .samples = {"reduce_max(f32[2, 3])", "reduce_max(f64[3, 4, 5], axes=[1])",
                "reduce_max(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_max(f16[5, 7], axes=[-1])", "reduce_max(f32[])",
                "reduce_max(i32[4, 3], axes=[0])", "reduce_max(u8[6])",
                "reduce_max(bool[2, 3], axes=[1])", "reduce_max(u64[5])"},
};
