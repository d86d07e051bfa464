/* is_inf.c - where x is infinite, of either sign. */
#include <math.h>

#include "op/ops.h"
#include "op/util/bound.h"

static bool eval_p(takt_scalar *s, const double *x)
{
    (void)s;
    return isinf(x[0]);
}

static void bound(takt_bounding *b)
{
    const takt_id size = takt_bound_magnitude(b, takt_bound_wide(b, 0));
    const takt_id finite = takt_binary(b->g, &takt_op_lt, size, takt_bound_number(b, INFINITY));
    const takt_id maybe = takt_cast(b->g, takt_unary(b->g, &takt_op_not, finite), TAKT_F64);
    takt_bound_keep(b, 0, takt_mul_scalar(b->g, maybe, 0), maybe);
}

const takt_op takt_op_is_inf = {
    .name = "is_inf",
    .summary = "true where x is infinite",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PREDICATE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_p = eval_p,
    .no_gradient = "its result is a bool",
    .bound = bound,
    .samples = {"is_inf(f32[2, 3])", "is_inf(f64[7])", "is_inf(f16[1, 5, 2])", "is_inf(f32[])"},
};
