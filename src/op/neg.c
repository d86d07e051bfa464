/* neg.c - the negative; integers wrap. */
#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return -x[0];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return (int64_t)(0 - (uint64_t)x[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_neg(g, dy[0]);
    (void)id;
}

const takt_op takt_op_neg = {
    .name = "neg",
    .summary = "-x",
    .onnx = {{"Neg", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = takt_bound_monotone, /* an integer may wrap */
    .falls = 1,
    .affine = 1,
    .samples = {"neg(f32[2, 3])", "neg(f64[7])", "neg(f16[1, 5, 2])", "neg(f32[])", "neg(i8[5])",
                "neg(u16[4])"},
};
