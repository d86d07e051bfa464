/* fake_quantize.c - quantises x and converts it back to floats, for training.
 *
 * The value is that of dequantize(quantize(x)); the gradient goes straight through the rounding
 * wherever the grid does not saturate, as in torch.fake_quantize_per_tensor_affine. Scale and zero
 * point have gradients too, for learnt ranges.
 */
#include <math.h>

#include "ir/infer.h"
#include "op/util/formula.h"

enum { X, SCALE, ZERO };
enum { LOW, HIGH };

static takt_status infer(takt_infer *in)
{
    const int64_t low = in->attr[LOW].i64, high = in->attr[HIGH].i64;
    if (low >= high || low < INT32_MIN || high > INT32_MAX)
        return takt_infer_fail(in, TAKT_E_ATTR, "levels go from %lld to %lld", (long long)low,
                               (long long)high);
    return takt_infer_elementwise(in);
}

static double eval_f(takt_scalar *s, const double *x)
{
    const double low = (double)s->attr[LOW].i64, high = (double)s->attr[HIGH].i64;
    const double q =
        takt_dtype_round(s->dtype, rint(takt_dtype_round(s->dtype, x[X] / x[SCALE])) + x[ZERO]);
    return (q < low ? low - x[ZERO] : q > high ? high - x[ZERO] : q - x[ZERO]) * x[SCALE];
}

/* round(x / scale) + zero, which may be outside the grid. */
static takt_id level_of(takt_graph *g, const takt_id *in)
{
    return takt_add(g, takt_unary(g, &takt_op_round, takt_div(g, in[X], in[SCALE])), in[ZERO]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id in[] = {n->in[X], n->in[SCALE], n->in[ZERO]};
    const double low = (double)n->attr[LOW].i64, high = (double)n->attr[HIGH].i64;
    const takt_id q = takt_clamp(g, level_of(g, in), low, high);
    out[0] = takt_mul(g, takt_sub(g, q, in[ZERO]), in[SCALE]);
}

/* With q = round(x / scale) + zero, inside the grid: 1 by x, round(x / scale) - x / scale by scale,
 * 0 by zero. Outside: 0, the end less zero, -scale. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_node n = *takt_node_at(g, id);
    const takt_id in[] = {n.in[X], n.in[SCALE], n.in[ZERO]};
    const takt_id q = level_of(g, in);
    const takt_id low = takt_scalar_like(g, q, (double)n.attr[LOW].i64);
    const takt_id high = takt_scalar_like(g, q, (double)n.attr[HIGH].i64);
    const takt_id is_below = takt_binary(g, &takt_op_lt, q, low);
    const takt_id is_above = takt_binary(g, &takt_op_lt, high, q);
    const takt_id is_outside = takt_binary(g, &takt_op_or, is_below, is_above);
    const takt_id none = takt_scalar_like(g, q, 0);
    dx[X] = takt_sum_to(g, takt_select(g, is_outside, none, dy[0]), in[X]);
    const takt_id rest = takt_sub(g, takt_sub(g, q, in[ZERO]), takt_div(g, in[X], in[SCALE]));
    const takt_id end = takt_sub(g, takt_select(g, is_below, low, high), in[ZERO]);
    const takt_id by_scale = takt_select(g, is_outside, end, rest);
    dx[SCALE] = takt_sum_to(g, takt_mul(g, dy[0], by_scale), in[SCALE]);
    const takt_id by_zero = takt_neg(g, takt_mul(g, dy[0], in[SCALE]));
    dx[ZERO] = takt_sum_to(g, takt_select(g, is_outside, by_zero, none), in[ZERO]);
}

const takt_op takt_op_fake_quantize = {
    .name = "fake_quantize",
    .summary = "x rounded to a grid of integers; the gradient goes straight through",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "scale", "zero"},
    .attrs = {[LOW] = {.name = "low",
                       .type = TAKT_ATTR_I64,
                       .fallback.i64 = -128,
                       .summary = "the lowest level"},
              [HIGH] = {.name = "high",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 127,
                        .summary = "the highest level"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 6,
    .samples = {"fake_quantize(f32[3, 4] in (-3, 3), f32[] in (0.01, 0.1), f32[] in (-0.5, 0.5))",
                "fake_quantize(f64[2, 5] in (-3, 3), f64[2, 1] in (0.1, 0.5), f64[] in (0, 0), "
                "low=-7, high=7)",
                "fake_quantize(f32[7] in (-3, 3), f32[7] in (0.5, 1), f32[] in (1, 1), low=0, "
                "high=3)",
                "fake_quantize(f16[3, 3] in (-3, 3), f16[] in (0.25, 0.5), f16[] in (0, 0))"},
};
