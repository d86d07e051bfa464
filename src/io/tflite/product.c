/* product.c - products of quantised tensors: integers on integer kernels, floats times bytes. */
#include "io/tflite/quant.h"
#include "op/util/integer.h"

/* Scale of the products of a column, as that of the result. */
static double factor(takt_tfl_call *c, const takt_tfl_product *p, size_t column)
{
    const float x = takt_tfl_quant_of(c, p->tx).scale, y = takt_tfl_quant_of(c, p->ty).scale,
                w = takt_tfl_scale_at(c, p->tw, p->tw->scale_count > 1 ? column : 0);
    const float rounded = x * w;
    const double both = p->is_rounded ? (double)rounded : (double)x * (double)w;
    return both / (double)y;
}

/* One scale for all columns, or one for each: a double, or a multiplier and a shift. */
static bool factors(takt_tfl_call *c, const takt_tfl_product *p, takt_dtype dtype, takt_id *out)
{
    const bool is_one = p->tw->scale_count <= 1;
    const size_t n = is_one ? 1 : p->columns;
    const int64_t dim = (int64_t)n;
    int64_t *m = takt_tfl_get(c, n, sizeof *m), *s = takt_tfl_get(c, n, sizeof *s);
    double *wide = takt_tfl_get(c, n, sizeof *wide);
    if (!is_one && p->tw->scale_count != n)
        c->status =
            takt_flat_fail(c->flat, p->tw->at, "tensor %.*s has %zu scales for %zu channels",
                           (int)p->tw->name.length, p->tw->name.at, p->tw->scale_count, n);
    if (m == NULL || s == NULL || wide == NULL || !takt_tfl_good(c))
        return false;
    for (size_t i = 0; i < n; i++) {
        wide[i] = factor(c, p, i);
        const takt_tfl_fixed f = takt_tfl_fixed_of(wide[i]);
        m[i] = f.multiplier;
        s[i] = f.shift;
    }
    const int rank = is_one ? 0 : 1;
    out[0] = p->is_wide ? takt_tfl_make_f(c, TAKT_F64, wide, &dim, rank)
                        : takt_tfl_make_i(c, dtype, m, &dim, rank);
    out[1] = p->is_wide ? TAKT_NONE : takt_tfl_make_i(c, dtype, s, &dim, rank);
    return takt_tfl_good(c);
}

takt_id takt_tfl_as_bytes(takt_tfl_call *c, takt_id w)
{
    if (w == TAKT_NONE)
        return w;
    const takt_dtype dtype = takt_type_of(c->g, w)->dtype;
    return dtype == TAKT_I4 || dtype == TAKT_I2 ? takt_cast(c->g, w, TAKT_I8) : w;
}

/* 16-bit activations: integers in doubles, exact below 2^53, with fast kernels; then a 16-bit
 * scale. */
static takt_id wide_product(takt_tfl_call *c, const takt_tfl_product *p, const takt_id scale[2])
{
    takt_graph *g = c->g;
    const takt_id x = takt_tfl_cast(c, p->x, TAKT_F64), w = takt_tfl_cast(c, p->w, TAKT_F64);
    const bool is_matrix = p->op == &takt_op_integer_matmul;
    takt_id sum = is_matrix ? takt_matmul(g, x, w, false, false)
                            : takt_tfl_op2(c, &takt_op_conv, x, w, p->attr_count, p->attrs);
    sum = takt_tfl_cast(c, sum, TAKT_I64);
    if (p->bias != TAKT_NONE)
        sum = takt_add(g, sum, takt_tfl_cast(c, p->bias, TAKT_I64));
    if (sum == TAKT_NONE)
        return sum;
    const takt_id in[] = {sum, scale[0], scale[1]};
    takt_id y;
    if (p->is_wide)
        y = takt_tfl_round_away(c, takt_mul(g, takt_tfl_cast(c, sum, TAKT_F64), scale[0]));
    else
        y = takt_graph_call(g, &takt_op_rescale, 3, in, 0, NULL);
    const takt_tfl_range range = takt_tfl_activation(c, p->ty, p->activation);
    return takt_tfl_saturate(c, y, takt_tfl_quant_of(c, p->ty).zero, range,
                             takt_tfl_dtype_of(p->ty->type));
}

takt_id takt_tfl_integer_product(takt_tfl_call *c, const takt_tfl_product *p)
{
    const takt_tfl_quant qx = takt_tfl_quant_of(c, p->tx), qy = takt_tfl_quant_of(c, p->ty);
    const int64_t w_zero = p->tw->zero_count > 0 ? p->tw->zero[0] : 0;
    takt_id in[TAKT_INTEGER_ALL], scale[2];
    if (p->x == TAKT_NONE || p->w == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_dtype x = takt_type_of(c->g, p->x)->dtype, w = takt_type_of(c->g, p->w)->dtype;
    const bool is_wide = x == TAKT_I16;
    if (!factors(c, p, is_wide ? TAKT_I64 : TAKT_I32, scale))
        return TAKT_NONE;
    if (is_wide)
        return wide_product(c, p, scale);
    in[TAKT_INTEGER_A] = p->x;
    in[TAKT_INTEGER_B] = p->w;
    in[TAKT_INTEGER_A_ZERO] = takt_tfl_number(c, x, qx.zero);
    in[TAKT_INTEGER_B_ZERO] = w_zero != 0 ? takt_tfl_number(c, w, (double)w_zero) : TAKT_NONE;
    in[TAKT_INTEGER_BIAS] = p->bias;
    in[TAKT_INTEGER_SCALE] = scale[0];
    in[TAKT_INTEGER_ZERO] = takt_tfl_number(c, takt_tfl_dtype_of(p->ty->type), qy.zero);
    in[TAKT_INTEGER_SHIFT] = scale[1];
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const takt_id y =
        takt_graph_call(c->g, p->op, p->is_wide ? TAKT_INTEGER_INPUTS : TAKT_INTEGER_ALL, in,
                        p->attr_count, p->attrs);
    return takt_tfl_bound(c, y, takt_tfl_activation(c, p->ty, p->activation));
}

/* ---- quantising floats to bytes ---- */

static bool is_single(const takt_type *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] != 1)
            return false;
    return true;
}

static bool is_never_below_0(const takt_graph *g, takt_id x)
{
    const takt_op *op = g->nodes[x].op;
    return op == &takt_op_relu || op == &takt_op_relu6;
}

/* One scale: the greatest size is 127. Rows of zeros have 1. */
static takt_tfl_dynamic symmetric(takt_tfl_call *c, takt_id x, const int64_t *axes, size_t count)
{
    takt_graph *g = c->g;
    const takt_id size = is_never_below_0(g, x) ? x : takt_unary(g, &takt_op_abs, x);
    const takt_id range = takt_reduce_over(g, &takt_op_reduce_max, size, axes, count, true);
    if (range == TAKT_NONE)
        return (takt_tfl_dynamic){TAKT_NONE, TAKT_NONE, TAKT_NONE};
    const takt_id one = takt_scalar_like(g, range, 1), most = takt_scalar_like(g, range, 127);
    const takt_id is_zero = takt_binary(g, &takt_op_eq, range, takt_scalar_like(g, range, 0));
    const takt_id safe = takt_select(g, is_zero, one, range);
    const takt_id scale = takt_select(g, is_zero, one, takt_div(g, safe, most));
    const takt_id inverse = takt_div(g, most, safe);
    if (inverse != TAKT_NONE && is_single(takt_type_of(g, inverse))) {
        const takt_tfl_grid grid = {TAKT_I8, 0, {-127, 127}};
        const takt_id one_scale = takt_reshape(g, inverse, NULL, 0);
        return (takt_tfl_dynamic){takt_tfl_quantise_away(c, x, one_scale, true, grid), scale,
                                  TAKT_NONE};
    }
    const takt_id level = takt_tfl_round_away(c, takt_mul(g, x, inverse));
    return (takt_tfl_dynamic){takt_tfl_cast(c, takt_tfl_clip(c, level, -127, 127), TAKT_I8), scale,
                              TAKT_NONE};
}

/* The zero point of a range that includes 0, computed in doubles from the end with the smaller
 * error. */
static takt_id zero_point(takt_tfl_call *c, takt_id low, takt_id high, takt_id scale)
{
    takt_graph *g = c->g;
    const takt_id below = takt_div(g, low, scale), above = takt_div(g, high, scale);
    const takt_id from_low = takt_sub(g, takt_scalar_like(g, below, -128), below);
    const takt_id from_high = takt_sub(g, takt_scalar_like(g, above, 127), above);
    const takt_id low_error =
        takt_add(g, takt_unary(g, &takt_op_abs, below), takt_scalar_like(g, below, 128));
    const takt_id high_error =
        takt_add(g, takt_unary(g, &takt_op_abs, above), takt_scalar_like(g, above, 127));
    const takt_id near =
        takt_select(g, takt_binary(g, &takt_op_lt, low_error, high_error), from_low, from_high);
    return takt_tfl_round_away(c, takt_tfl_clip(c, near, -128, 127));
}

static takt_tfl_dynamic asymmetric(takt_tfl_call *c, takt_id x, const int64_t *axes, size_t count)
{
    takt_graph *g = c->g;
    const takt_id none = takt_scalar_like(g, x, 0);
    const takt_id low = takt_binary(
        g, &takt_op_min, takt_reduce_over(g, &takt_op_reduce_min, x, axes, count, true), none);
    const takt_id high = takt_binary(
        g, &takt_op_max, takt_reduce_over(g, &takt_op_reduce_max, x, axes, count, true), none);
    const takt_id is_zero = takt_binary(g, &takt_op_eq, low, high);
    const takt_id a = takt_tfl_cast(c, low, TAKT_F64), b = takt_tfl_cast(c, high, TAKT_F64);
    const takt_id width = takt_sub(g, b, a);
    if (width == TAKT_NONE)
        return (takt_tfl_dynamic){TAKT_NONE, TAKT_NONE, TAKT_NONE};
    const takt_id wide = takt_select(g, is_zero, takt_scalar_like(g, width, 255), width);
    const takt_id scale = takt_div(g, wide, takt_scalar_like(g, width, 255));
    const takt_id given = zero_point(c, a, b, scale);
    const takt_id zero =
        takt_tfl_cast(c, takt_select(g, is_zero, takt_scalar_like(g, given, 0), given), TAKT_F32);
    const takt_id narrow = takt_tfl_cast(c, scale, TAKT_F32);
    const takt_id inverse = takt_div(g, takt_scalar_like(g, narrow, 1), narrow);
    const takt_id level = takt_tfl_round_away(c, takt_add(g, zero, takt_mul(g, x, inverse)));
    return (takt_tfl_dynamic){takt_tfl_cast(c, takt_tfl_clip(c, level, -128, 127), TAKT_I8), narrow,
                              takt_tfl_cast(c, zero, TAKT_I32)};
}

takt_tfl_dynamic takt_tfl_dynamic_of(takt_tfl_call *c, takt_id x, bool is_asymmetric,
                                     bool is_sample)
{
    int64_t axes[TAKT_MAX_RANK];
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return (takt_tfl_dynamic){TAKT_NONE, TAKT_NONE, TAKT_NONE};
    const int rank = takt_type_of(c->g, x)->rank;
    size_t count = 0;
    for (int d = is_sample ? 1 : rank - 1; d < rank; d++)
        axes[count++] = d;
    return is_asymmetric ? asymmetric(c, x, axes, count) : symmetric(c, x, axes, count);
}
