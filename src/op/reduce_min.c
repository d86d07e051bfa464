/* reduce_min.c - the least element over some axes; NaN if there is one.
 *
 * Over no elements it is inf, or the greatest integer.
 */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/reduce.h"

static double min_f(double best, double x)
{
    if (isnan(best) || isnan(x))
        return best + x;
    if (best == x)
        return signbit(best) ? best : x;
    return x < best ? x : best;
}

static int64_t min_i(takt_dtype dtype, int64_t best, int64_t x)
{
    const bool wins = dtype == TAKT_U64 ? (uint64_t)x < (uint64_t)best : x < best;
    return wins ? x : best;
}

static const takt_fold fold = {.start = INFINITY, .f = min_f, .i = min_i};

static takt_status eval(takt_eval *e)
{
    return takt_fold_eval(e, &fold);
}

const takt_op takt_op_reduce_min = {
    .name = "reduce_min",
    .summary = "the least element over axes",
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
    .samples = {"reduce_min(f32[2, 3])", "reduce_min(f64[3, 4, 5], axes=[1])",
                "reduce_min(f32[2, 3, 4], axes=[0, -1], keep=true)",
                "reduce_min(f16[5, 7], axes=[-1])", "reduce_min(f32[])",
                "reduce_min(i32[4, 3], axes=[0])", "reduce_min(u8[6])",
                "reduce_min(bool[2, 3], axes=[1])", "reduce_min(u64[5])"},
};
