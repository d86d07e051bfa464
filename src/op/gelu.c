/* gelu.c - x times the normal distribution function of x. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

enum { APPROXIMATE };
enum { NONE, TANH };
static const char *const names[] = {[NONE] = "none", [TANH] = "tanh", NULL};

static const double root_half = 0.70710678118654752440;  /* sqrt(1/2) */
static const double root_2_pi = 0.79788456080286535588;  /* sqrt(2/pi) */
static const double root_1_2pi = 0.39894228040143267794; /* 1/sqrt(2 pi) */
static const double cubic = 0.044715;

/* Below this, results are -0: -inf itself would give inf * 0 instead of the limit. */
static const double lowest = -256;

static double eval_f(takt_scalar *s, const double *in)
{
    const double x = in[0] < lowest ? lowest : in[0];
    if (s->attr[APPROXIMATE].i64 == TANH)
        return 0.5 * x * (1 + tanh(root_2_pi * (x + cubic * x * x * x)));
    return 0.5 * x * erfc(-x * root_half);
}

/* tanh(sqrt(2/pi) (x + cubic x^3)). */
static takt_id tanh_part(takt_graph *g, takt_id x)
{
    const takt_id cube = takt_mul(g, takt_square(g, x), x);
    const takt_id inner = takt_add(g, x, takt_mul_scalar(g, cube, cubic));
    return takt_unary(g, &takt_op_tanh, takt_mul_scalar(g, inner, root_2_pi));
}

static takt_id erf_part(takt_graph *g, takt_id x)
{
    return takt_unary(g, &takt_op_erf, takt_mul_scalar(g, x, root_half));
}

/* (1 + t) / 2 + (x / 2) t', where t' is the derivative of t. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const bool is_tanh = takt_node_at(g, id)->attr[APPROXIMATE].i64 == TANH;
    const takt_id t = is_tanh ? tanh_part(g, x) : erf_part(g, x), square = takt_square(g, x);
    takt_id rise; /* t' / 2 */
    if (is_tanh) {
        const takt_id bend = takt_sub(g, takt_scalar_like(g, x, 1), takt_square(g, t));
        const takt_id inner = takt_add_scalar(g, takt_mul_scalar(g, square, 3 * cubic), 1);
        rise = takt_mul_scalar(g, takt_mul(g, bend, inner), 0.5 * root_2_pi);
    } else {
        const takt_id bell = takt_unary(g, &takt_op_exp, takt_mul_scalar(g, square, -0.5));
        rise = takt_mul_scalar(g, bell, root_1_2pi);
    }
    const takt_id level = takt_mul_scalar(g, takt_add_scalar(g, t, 1), 0.5);
    dx[0] = takt_mul(g, dy[0], takt_add(g, level, takt_mul(g, x, rise)));
}

/* Lowest at -0.7518 (tanh: -0.7525). Below 0 the error is relative to x, not to the result, which
 * may be tiny. */
static void bound(takt_bounding *b)
{
    const bool is_tanh = b->node->attr[APPROXIMATE].i64 == TANH;
    const takt_range x = takt_bound_wide(b, 0);
    const takt_id depth = takt_bound_max(b, takt_neg(b->g, x.lo), takt_bound_number(b, 0));
    /* Below -256 it is 0. */
    const takt_id most = takt_bound_min(b, depth, takt_bound_number(b, -lowest));
    const takt_grid grid = takt_grid_of(b->node->type[0].dtype);
    const takt_id more = takt_mul_scalar(b->g, most, 2 * (b->is_real ? 0x1p-50 : grid.ulp));
    takt_bound_valley(b, is_tanh ? -0.7524614220710162 : -0.7517915246935645,
                      is_tanh ? -0.17004092 : -0.16997121, more);
}

static double curve_f(const takt_node *n, double x)
{
    takt_scalar s = {.attr = n->attr};
    return eval_f(&s, &x);
}

static double curve_slope(const takt_node *n, double x)
{
    if (n->attr[APPROXIMATE].i64 != TANH)
        return 0.5 * erfc(-x * root_half) + x * root_1_2pi * exp(-0.5 * x * x);
    const double t = tanh(root_2_pi * (x + cubic * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root_2_pi * (1 + 3 * cubic * x * x);
}

/* Convex between the inflection points. Below 0 the error is relative to x, as in `bound`: the
 * kernel's, and that of curve_f, where 1 + tanh cancels. */
static void relax(takt_relaxing *r)
{
    static const takt_smooth exact = {
        curve_f, curve_slope, {-1.4142135623730951, 1.4142135623730951}, 2, false, -INFINITY};
    static const takt_smooth by_tanh = {
        curve_f, curve_slope, {-1.4185040087908284, 1.4185040087908284}, 2, false, -INFINITY};
    takt_relax_curve(r, r->node->attr[APPROXIMATE].i64 == TANH ? &by_tanh : &exact);
    for (size_t i = 0; i < r->count; i++) {
        const double error = 2 * fmax(r->ulp, 0x1p-50) * fmin(fmax(-r->lo[0][i], 0), -lowest);
        r->below_at[i] -= error;
        r->above_at[i] += error;
    }
}

const takt_op takt_op_gelu = {
    .name = "gelu",
    .summary = "x times the normal distribution function of x",
    .onnx = {{"Gelu", 20, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[APPROXIMATE] = {.name = "approximate",
                               .type = TAKT_ATTR_ENUM,
                               .fallback.i64 = NONE,
                               .names = names,
                               .summary = "none: by erf; tanh: the older approximation"}},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .flops_per_element = 16,
    .bound = bound,
    .error.ulps = 3,
    .relax = relax,
    .samples = {"gelu(f32[2, 3] in (-3, 3))", "gelu(f64[7] in (-3, 3), approximate=tanh)",
                "gelu(f16[1, 5, 2])", "gelu(f32[])", "gelu(bf16[4], approximate=none)"},
};
