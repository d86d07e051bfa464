/* absent.c - a product with values that some rows do not see, whatever they are.
 *
 * Infinities and NaN are replaced by zeros, and the effect of the visible ones is added: any NaN,
 * infinities of both signs, or an infinity with weight zero give NaN.
 */
#include "op/util/absent.h"

#include <math.h>

/* 1 where `test` holds, else 0. */
static takt_id ones(takt_graph *g, takt_id like, takt_id test)
{
    return takt_select(g, test, takt_scalar_like(g, like, 1), takt_scalar_like(g, like, 0));
}

/* Whether any key for which `rows` is 1 is marked in `columns`. */
static takt_id any(takt_graph *g, takt_id like, takt_id rows, takt_id columns)
{
    return takt_binary(g, &takt_op_gt, takt_matmul(g, rows, ones(g, like, columns), false, false),
                       takt_scalar_like(g, like, 0));
}

takt_id takt_absent_mix(takt_graph *g, takt_id weights, takt_id v, takt_id seen)
{
    const takt_id zero = takt_scalar_like(g, v, 0), nan = takt_scalar_like(g, v, NAN);
    const takt_id inf = takt_scalar_like(g, v, INFINITY);
    const takt_id is_nan = takt_unary(g, &takt_op_is_nan, v);
    const takt_id is_high = takt_binary(g, &takt_op_eq, v, inf);
    const takt_id is_low = takt_binary(g, &takt_op_eq, v, takt_scalar_like(g, v, -INFINITY));
    const takt_id is_odd =
        takt_binary(g, &takt_op_or, is_nan, takt_binary(g, &takt_op_or, is_high, is_low));
    const takt_id plain = takt_select(g, is_odd, zero, v);
    const takt_id is_zero =
        takt_binary(g, &takt_op_and, seen, takt_binary(g, &takt_op_eq, weights, zero));
    const takt_id rows = ones(g, v, seen);
    const takt_id high = any(g, v, rows, is_high), low = any(g, v, rows, is_low);
    const takt_id bad = takt_binary(g, &takt_op_or, any(g, v, rows, is_nan),
                                    any(g, v, ones(g, v, is_zero), is_odd));
    const takt_id both = takt_binary(g, &takt_op_or, bad, takt_binary(g, &takt_op_and, high, low));
    const takt_id one_side =
        takt_select(g, low, takt_scalar_like(g, v, -INFINITY), takt_scalar_like(g, v, -0.0));
    const takt_id more = takt_select(g, both, nan, takt_select(g, high, inf, one_side));
    return takt_add(g, takt_matmul(g, weights, plain, false, false), more);
}
