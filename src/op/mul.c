/* mul.c - the product; integers wrap. */
#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] * x[1];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return (int64_t)((uint64_t)x[0] * (uint64_t)x[1]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id a = takt_node_at(g, id)->in[0], b = takt_node_at(g, id)->in[1];
    dx[0] = takt_sum_to(g, takt_mul(g, dy[0], b), a);
    dx[1] = takt_sum_to(g, takt_mul(g, dy[0], a), b);
}

/* The extremes are at the corners; 0 times infinity is NaN wherever it occurs between them. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_range x = takt_bound_wide(b, 0), y = takt_bound_wide(b, 1);
    const takt_id zero = takt_bound_number(b, 0);
    if (b->node->in[0] == b->node->in[1]) {
        const takt_id least = takt_bound_max(b, takt_bound_max(b, x.lo, takt_neg(g, x.hi)), zero);
        takt_bound_set(b, 0, takt_mul(g, least, least),
                       takt_mul(g, takt_bound_magnitude(b, x), takt_bound_magnitude(b, x)), 0.5,
                       TAKT_NONE);
        if (takt_dtype_is_float(b->node->type[0].dtype))
            b->out[0].lo = takt_bound_max(b, b->out[0].lo, zero);
        return;
    }
    const takt_id at[] = {takt_mul(g, x.lo, y.lo), takt_mul(g, x.lo, y.hi), takt_mul(g, x.hi, y.lo),
                          takt_mul(g, x.hi, y.hi)};
    const takt_id lo =
        takt_bound_min(b, takt_bound_min(b, at[0], at[1]), takt_bound_min(b, at[2], at[3]));
    const takt_id hi =
        takt_bound_max(b, takt_bound_max(b, at[0], at[1]), takt_bound_max(b, at[2], at[3]));
    /* The smallest magnitude between the ends, times the largest of the other operand. */
    const takt_id near_x = takt_bound_max(b, takt_bound_max(b, x.lo, takt_neg(g, x.hi)), zero);
    const takt_id near_y = takt_bound_max(b, takt_bound_max(b, y.lo, takt_neg(g, y.hi)), zero);
    const takt_id meet = takt_add(g, takt_mul(g, near_x, takt_bound_magnitude(b, y)),
                                  takt_mul(g, near_y, takt_bound_magnitude(b, x)));
    const takt_id bad = takt_unary(g, &takt_op_is_nan, meet);
    takt_bound_set(b, 0, takt_bound_spoil(b, bad, lo), takt_bound_spoil(b, bad, hi), 0.5,
                   TAKT_NONE);
}

const takt_op takt_op_mul = {
    .name = "mul",
    .summary = "a * b",
    .onnx = {{"Mul", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_COMMUTES | TAKT_PRIMITIVE | TAKT_AMP_SIMPLE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = bound,
    .error.ulps = 0.5,
    .affine = 3,
    .relax = takt_relax_mul,
    .samples = {"mul(f32[2, 3], f32[2, 3])", "mul(f32[4, 1, 3], f32[5, 1])", "mul(f64[], f64[7])",
                "mul(f16[3], f16[2, 3])", "mul(i32[2, 3], i32[3])", "mul(u8[5], u8[5])"},
};
