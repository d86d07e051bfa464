/* argmin.c - the index of the least element along an axis.
 *
 * NaN counts as the least, as in reduce_min, so the index is where reduce_min found its value. On
 * ties the first, or the last on request. No gradient: an index does not vary smoothly.
 */
#include "op/util/arg.h"
#include "op/util/bound.h"

static bool f_wins(double x, double best)
{
    return x < best || (x != x && best == best);
}

static bool i_wins(takt_dtype dtype, int64_t x, int64_t best)
{
    return dtype == TAKT_U64 ? (uint64_t)x < (uint64_t)best : x < best;
}

static takt_status eval(takt_eval *e)
{
    return takt_arg_eval(e, f_wins, i_wins);
}

const takt_op takt_op_argmin = {
    .name = "argmin",
    .summary = "the index of the least element along an axis",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_ARG_ATTRS},
    .traits = TAKT_REDUCES | TAKT_PRIMITIVE,
    .dtypes = TAKT_COMPUTE,
    .infer = takt_arg_infer,
    .eval = eval,
    .cost = takt_arg_cost,
    .no_gradient = "its result is an index",
    .bound = takt_bound_index,
    .samples = {"argmin(f32[2, 3], axis=1)", "argmin(f64[3, 4, 5], axis=-2, keep=true)",
                "argmin(i32[7] in (0, 3), axis=0)", "argmin(u8[5, 4] in (0, 2), axis=0, last=true)",
                "argmin(bool[6], axis=0)", "argmin(u64[3], axis=-1)"},
};
