/* min.c - the lesser (IEEE 754-2019 minimum): NaN wins, -0 is less than +0. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    if (isnan(x[0]) || isnan(x[1]))
        return x[0] + x[1];
    if (x[0] == x[1])
        return signbit(x[0]) ? x[0] : x[1];
    return x[0] < x[1] ? x[0] : x[1];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    const bool first = s->dtype == TAKT_U64 ? (uint64_t)x[0] < (uint64_t)x[1] : x[0] < x[1];
    return first ? x[0] : x[1];
}

/* To the lesser; ties share it, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    takt_grad_of_choice(g, id, dy[0], false, dx);
}

static void relax(takt_relaxing *r)
{
    takt_relax_max(r, -1);
}

const takt_op takt_op_min = {
    .name = "min",
    .summary = "the lesser of a and b; NaN if either is",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_COMMUTES | TAKT_PRIMITIVE | TAKT_AMP_CHOOSES,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = takt_bound_exact,
    .relax = relax,
    .samples = {"min(f32[2, 3], f32[2, 3])", "min(f32[4, 1, 3], f32[5, 1])", "min(f64[], f64[7])",
                "min(f16[3], f16[2, 3])", "min(i32[2, 3], i32[3])", "min(u8[5], u8[5])",
                "min(u64[3], u64[3])"},
};
