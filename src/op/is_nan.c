/* is_nan.c - where x is not a number. */
#include <math.h>

#include "op/ops.h"
#include "op/util/bound.h"

static bool eval_p(takt_scalar *s, const double *x)
{
    (void)s;
    return isnan(x[0]);
}

static void bound(takt_bounding *b)
{
    const takt_id maybe = takt_cast(b->g, takt_bound_unknown(b, takt_bound_wide(b, 0)), TAKT_F64);
    takt_bound_keep(b, 0, takt_mul_scalar(b->g, maybe, 0), maybe);
}

const takt_op takt_op_is_nan = {
    .name = "is_nan",
    .summary = "true where x is NaN",
    .onnx = {{"IsNaN", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PREDICATE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_p = eval_p,
    .no_gradient = "its result is a bool",
    .bound = bound,
    .samples = {"is_nan(f32[2, 3])", "is_nan(f64[7])", "is_nan(f16[1, 5, 2])", "is_nan(f32[])"},
};
