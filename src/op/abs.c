/* abs.c - the absolute value; the least integer wraps to itself. */
#include <math.h>

#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return fabs(x[0]);
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    return takt_dtype_is_unsigned(s->dtype) || x[0] >= 0 ? x[0] : (int64_t)(0 - (uint64_t)x[0]);
}

/* 0 at 0, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_mul(g, dy[0], takt_unary(g, &takt_op_sign, x));
}

static void bound(takt_bounding *b)
{
    const takt_range x = takt_bound_wide(b, 0);
    const takt_id least = takt_bound_max(b, x.lo, takt_neg(b->g, x.hi));
    takt_bound_set(b, 0, takt_bound_max(b, least, takt_bound_number(b, 0)),
                   takt_bound_magnitude(b, x), 0, TAKT_NONE);
}

static void relax(takt_relaxing *r)
{
    takt_relax_hinge(r, 0, 0, -1, 1);
}

const takt_op takt_op_abs = {
    .name = "abs",
    .summary = "|x|",
    .onnx = {{"Abs", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = bound,
    .relax = relax,
    .samples = {"abs(f32[2, 3])", "abs(f64[7])", "abs(f16[1, 5, 2])", "abs(f32[])",
                "abs(i32[3, 2])", "abs(u8[4])"},
};
