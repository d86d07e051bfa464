/* is_inf.c - where x is infinite, of either sign. */
#include <math.h>

#include "op/ops.h"

static bool eval_p(takt_scalar *s, const double *x)
{
    (void)s;
    return isinf(x[0]);
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
    .samples = {"is_inf(f32[2, 3])", "is_inf(f64[7])", "is_inf(f16[1, 5, 2])", "is_inf(f32[])"},
};
