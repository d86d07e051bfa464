/* round.c - the nearest integer, ties to even. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"

/* The rounding mode is the default one: to nearest, ties to even. */
static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return rint(x[0]);
}

const takt_op takt_op_round = {
    .name = "round",
    .summary = "the nearest integer, halves to even",
    .onnx = {{"Round", 11, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = takt_grad_zero,
    .bound = takt_bound_exact,
    .samples = {"round(f32[2, 3] in (-4, 4))", "round(f64[7] in (-4, 4))",
                "round(f16[1, 5, 2] in (-4, 4))", "round(f32[] in (-4, 4))"},
};
