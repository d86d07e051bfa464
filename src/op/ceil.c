/* ceil.c - the least integer not below x. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return ceil(x[0]);
}

const takt_op takt_op_ceil = {
    .name = "ceil",
    .summary = "the least integer not below x",
    .onnx = {{"Ceil", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = takt_grad_zero,
    .bound = takt_bound_exact,
    .samples = {"ceil(f32[2, 3] in (-4, 4))", "ceil(f64[7] in (-4, 4))",
                "ceil(f16[1, 5, 2] in (-4, 4))", "ceil(f32[] in (-4, 4))"},
};
