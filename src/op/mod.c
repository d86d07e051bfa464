/* mod.c - the remainder, with the sign of the divisor or, as in C, of the dividend. */
#include <math.h>

#include "op/ops.h"
#include "op/util/bound.h"

enum { FMOD };

static double eval_f(takt_scalar *s, const double *x)
{
    const double rest = fmod(x[0], x[1]);
    if (s->attr[FMOD].boolean || isnan(rest))
        return rest;
    if (rest == 0)
        return copysign(0, x[1]);
    return (rest < 0) != (x[1] < 0) ? rest + x[1] : rest;
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    if (x[1] == 0) {
        s->fault = true;
        return 0;
    }
    if (s->dtype == TAKT_U64)
        return (int64_t)((uint64_t)x[0] % (uint64_t)x[1]);
    const int64_t rest = x[1] == -1 ? 0 : x[0] % x[1];
    const bool keeps = s->attr[FMOD].boolean || rest == 0 || (rest < 0) == (x[1] < 0);
    return keeps ? rest : rest + x[1];
}

/* a - b * floor(a / b), or trunc: 1, and minus the integer quotient. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id a = takt_node_at(g, id)->in[0], b = takt_node_at(g, id)->in[1];
    const bool is_fmod = takt_node_at(g, id)->attr[FMOD].boolean;
    const takt_op *whole = is_fmod ? &takt_op_trunc : &takt_op_floor;
    dx[0] = takt_sum_to(g, dy[0], a);
    const takt_id count = takt_unary(g, whole, takt_div(g, a, b));
    dx[1] = takt_sum_to(g, takt_neg(g, takt_mul(g, dy[0], count)), b);
}

/* Between 0 and the divisor, with either sign; modulo 0, or of infinity, anything. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_range x = takt_bound_wide(b, 0), y = takt_bound_wide(b, 1);
    const takt_id zero = takt_bound_number(b, 0), most = takt_bound_magnitude(b, y);
    const takt_id is_apart = takt_binary(g, &takt_op_or, takt_binary(g, &takt_op_lt, zero, y.lo),
                                         takt_binary(g, &takt_op_lt, y.hi, zero));
    const takt_id finite =
        takt_binary(g, &takt_op_lt, takt_bound_magnitude(b, x), takt_bound_number(b, INFINITY));
    const takt_id bad = takt_unary(g, &takt_op_not, takt_binary(g, &takt_op_and, is_apart, finite));
    /* Gives it the broadcast shape of both inputs. */
    const takt_id reach = takt_add(g, most, takt_mul_scalar(g, takt_select(g, bad, zero, x.lo), 0));
    takt_bound_set(b, 0, takt_bound_spoil(b, bad, takt_neg(g, reach)),
                   takt_bound_spoil(b, bad, reach), 1, TAKT_NONE);
}

const takt_op takt_op_mod = {
    .name = "mod",
    .summary = "the remainder with the sign of b, or of a if fmod is true",
    .onnx = {{"Mod", 10, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .attrs = {[FMOD] = {.name = "fmod",
                        .type = TAKT_ATTR_BOOL,
                        .fallback.boolean = false,
                        .summary = "the sign of the result is that of the dividend"}},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = bound,
    .samples = {"mod(f32[2, 3] in (1, 1.9), f32[3] in (2, 3))",
                "mod(f64[2, 1], f64[1, 4] in (5, 6))", "mod(f32[4], f32[4] in (-6, -5), fmod=true)",
                "mod(i32[7], i32[7] in (-5, -1))", "mod(u8[2, 2], u8[2] in (1, 7))",
                "mod(i64[5], i64[] in (1, 4), fmod=true)"},
};
