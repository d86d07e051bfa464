/* argmax.c - the index of the greatest element along an axis.
 *
 * NaN counts as the greatest, as in reduce_max, so the index is where reduce_max found its value.
 * On ties the first, or the last on request. No gradient: an index does not vary smoothly.
 */
#include "op/util/arg.h"
#include "op/util/bound.h"

static bool f_wins(double x, double best)
{
    return x > best || (x != x && best == best);
}

static bool i_wins(takt_dtype dtype, int64_t x, int64_t best)
{
    return dtype == TAKT_U64 ? (uint64_t)x > (uint64_t)best : x > best;
}

static takt_status eval(takt_eval *e)
{
    return takt_arg_eval(e, f_wins, i_wins);
}

const takt_op takt_op_argmax = {
    .name = "argmax",
    .summary = "the index of the greatest element along an axis",
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
    .samples = {"argmax(f32[2, 3], axis=1)", "argmax(f64[3, 4, 5], axis=-2, keep=true)",
                "argmax(i32[7] in (0, 3), axis=0)", "argmax(u8[5, 4] in (0, 2), axis=0, last=true)",
                "argmax(bool[6], axis=0)", "argmax(u64[3], axis=-1)"},
};
