/* quantize_away.c - round(x / scale) + zero, halves away from zero, as TensorFlow Lite quantises.
 *
 * The quotient, or the product with `times`, is rounded to f32 first. NaN becomes the zero point.
 */
#include "op/util/check.h"
#include "op/util/make.h"

enum { DTYPE, ZERO, LOW, HIGH, TIMES };

static takt_status check_range(takt_infer *in, takt_dtype dtype)
{
    const int bits = takt_dtype_bits(dtype);
    const int64_t size = INT64_C(1) << bits, least = takt_dtype_is_signed(dtype) ? -size / 2 : 0;
    const int64_t low = in->attr[LOW].i64, high = in->attr[HIGH].i64;
    if (low < least || high > least + size - 1 || low > high)
        return takt_infer_fail(in, TAKT_E_ATTR, "low is %lld and high is %lld, of %s",
                               (long long)low, (long long)high, takt_dtype_name(dtype));
    if (in->attr[ZERO].i64 < least || in->attr[ZERO].i64 > least + size - 1)
        return takt_infer_fail(in, TAKT_E_ATTR, "zero is %lld, of %s",
                               (long long)in->attr[ZERO].i64, takt_dtype_name(dtype));
    return TAKT_OK;
}

static takt_status infer(takt_infer *in)
{
    const takt_dtype dtype = in->attr[DTYPE].dtype;
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_IN(TAKT_F32), "f32"));
    TAKT_TRY(takt_infer_dtype(in, 1, TAKT_IN(TAKT_F32), "f32"));
    TAKT_TRY(takt_infer_rank(in, 1, 0, 0));
    if (dtype != TAKT_I8 && dtype != TAKT_U8 && dtype != TAKT_I16 && dtype != TAKT_U16)
        return takt_infer_fail(in, TAKT_E_ATTR, "dtype must be an integer of 8 or 16 bits, got %s",
                               takt_dtype_name(dtype));
    TAKT_TRY(check_range(in, dtype));
    in->out[0] = *in->type[0];
    in->out[0].dtype = dtype;
    return TAKT_OK;
}

/* x minus its integer part is exact, so that only halves are rounded away from zero. */
static takt_id rounded(takt_graph *g, takt_id x)
{
    const takt_id whole = takt_unary(g, &takt_op_trunc, x);
    const takt_id rest = takt_unary(g, &takt_op_abs, takt_sub(g, x, whole));
    const takt_id half = takt_scalar_like(g, x, 0.5);
    const takt_id up = takt_cast(g, takt_binary(g, &takt_op_ge, rest, half), TAKT_F32);
    return takt_add(g, whole, takt_mul(g, up, takt_unary(g, &takt_op_sign, x)));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_node old = *n;
    const takt_attr *a = old.attr;
    const bool is_product = takt_node_attr(n, "times")->boolean;
    const takt_named_attr bounds[] = {{"min", takt_attr_f64((double)a[LOW].i64)},
                                      {"max", takt_attr_f64((double)a[HIGH].i64)}};
    const takt_id q =
        takt_binary(g, is_product ? &takt_op_mul : &takt_op_div, old.in[0], old.in[1]);
    const takt_id is_number = takt_binary(g, &takt_op_eq, q, q);
    const takt_id known = takt_select(g, is_number, q, takt_scalar_like(g, q, 0));
    takt_id level = rounded(g, known);
    if (a[ZERO].i64 != 0)
        level = takt_add(g, level, takt_scalar_like(g, level, (double)a[ZERO].i64));
    level = takt_graph_call(g, &takt_op_clip, 1, &level, 2, bounds);
    out[0] = takt_cast(g, level, a[DTYPE].dtype);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 4 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_quantize_away = {
    .name = "quantize_away",
    .summary = "round(x / scale) + zero, halves away from zero, held between low and high",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "scale"},
    .attrs = {[DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .fallback.dtype = TAKT_I8,
                         .summary = "the quantised type"},
              [ZERO] = {.name = "zero", .type = TAKT_ATTR_I64, .summary = "what 0 becomes"},
              [LOW] = {.name = "low",
                       .type = TAKT_ATTR_I64,
                       .fallback.i64 = -128,
                       .summary = "the least result"},
              [HIGH] = {.name = "high",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 127,
                        .summary = "the greatest result"},
              [TIMES] = {.name = "times",
                         .type = TAKT_ATTR_BOOL,
                         .summary = "x * scale instead of x / scale"}},
    .dtypes = TAKT_IN(TAKT_F32),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"quantize_away(f32[3, 4] in (-3, 3), f32[] in (0.01, 0.1))",
                "quantize_away(f32[70] in (-9, 9), f32[] in (0.1, 0.2), dtype=u8, zero=77, low=3, "
                "high=200)",
                "quantize_away(f32[2, 5] in (-9, 9), f32[] in (10, 20), zero=-5, low=-127, "
                "times=true)",
                "quantize_away(f32[7], f32[] in (0.01, 0.1), dtype=i16, low=-32768, high=32767)",
                "quantize_away(f32[7], f32[] in (0.01, 0.1), dtype=u16, low=0, high=999)"},
};
