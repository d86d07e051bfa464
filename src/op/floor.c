/* floor.c - the greatest integer not above x. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return floor(x[0]);
}

const takt_op takt_op_floor = {
    .name = "floor",
    .summary = "the greatest integer not above x",
    .onnx = {{"Floor", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = takt_grad_zero,
    .bound = takt_bound_exact,
    .samples = {"floor(f32[2, 3] in (-4, 4))", "floor(f64[7] in (-4, 4))",
                "floor(f16[1, 5, 2] in (-4, 4))", "floor(f32[] in (-4, 4))"},
};
