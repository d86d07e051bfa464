/* relu.c - 0 where x < 0, else x: NaN and -0 pass through. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] < 0 ? 0 : x[0];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return x[0] < 0 ? 0 : x[0];
}

/* 0 at 0, as in PyTorch. Uses the result, which is above 0 where x is, so x need not be kept. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_keep_where(g, takt_is_above(g, id, 0), dy[0]);
}

static void relax(takt_relaxing *r)
{
    takt_relax_hinge(r, 0, 0, 0, 1);
}

const takt_op takt_op_relu = {
    .name = "relu",
    .summary = "0 where x < 0, else x",
    .onnx = {{"Relu", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_FLOATS | TAKT_SIGNED,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = takt_bound_exact,
    .relax = relax,
    .samples = {"relu(f32[2, 3])", "relu(f64[7])", "relu(f16[1, 5, 2])", "relu(f32[])",
                "relu(i32[3, 3])", "relu(bf16[9])"},
};
