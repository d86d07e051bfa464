/* quantize.c - round(x / scale) + zero, half to even, saturated to the quantised type.
 *
 * The quotient is rounded to the type of x first. NaN becomes the zero point, whatever its cause; a
 * scale of 0 gives infinite quotients, which saturate.
 */
#include <math.h>

#include "op/util/affine.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { AXIS, DTYPE };

static takt_status infer(takt_infer *in)
{
    const takt_dtype dtype = in->attr[DTYPE].dtype;
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_FLOATS, "a float"));
    TAKT_TRY(takt_check_same_dtype(in, 0, 1));
    if ((TAKT_QUANTISED & TAKT_IN(dtype)) == 0 || takt_dtype_bits(dtype) > 32)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "quantize: dtype must be an integer of at most 32 "
                         "bits, got %s",
                         takt_dtype_name(dtype));
    TAKT_TRY(takt_affine_infer(in, in->attr[AXIS].i64, dtype));
    in->out[0] = *in->type[0];
    in->out[0].dtype = dtype;
    return TAKT_OK;
}

/* Half to even, whatever the current rounding mode. */
static double half_even(double x)
{
    if (isnan(x))
        return 0;
    if (isinf(x))
        return x;
    const double down = floor(x), rest = x - down;
    if (rest != 0.5)
        return rest < 0.5 ? down : down + 1;
    return fmod(down, 2) == 0 ? down : down + 1;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++) {
        const takt_affine a = takt_affine_at(e, e->attr[AXIS].i64, i);
        const double q = takt_dtype_round(x->dtype, x->f[i] / a.scale);
        out->i[i] = takt_dtype_from_double(out->dtype, half_even(q) + (double)a.zero);
    }
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 4 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

/* Rises with x, or falls if the scale is negative. NaN becomes the zero point. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    takt_bound_any(b);
    if (!takt_bound_fixed(b))
        return;
    const takt_range any = b->out[0], x = takt_bound_wide(b, 0);
    const takt_dtype dtype = takt_type_of(g, b->in[1].lo)->dtype;
    takt_id in[3] = {TAKT_NONE, b->in[1].lo, b->node->in_count > 2 ? b->in[2].lo : TAKT_NONE};
    /* x is a number of its type, so no number of that type is between it and its bound. */
    in[0] = takt_cast(g, b->is_real ? takt_bound_below(b, x.lo) : x.lo, dtype);
    const takt_id first = takt_bound_call(b, in, 0);
    in[0] = takt_cast(g, b->is_real ? takt_bound_above(b, x.hi) : x.hi, dtype);
    const takt_id last = takt_bound_call(b, in, 0);
    const takt_id unknown = takt_bound_unknown(b, x);
    takt_bound_keep(b, 0, takt_select(g, unknown, any.lo, takt_bound_min(b, first, last)),
                    takt_select(g, unknown, any.hi, takt_bound_max(b, first, last)));
}

const takt_op takt_op_quantize = {
    .name = "quantize",
    .summary = "round(x / scale) + zero, half to even, saturated",
    .in_min = 2,
    .in_max = 3,
    .in_names = {"x", "scale", "zero"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 1,
                        .summary = "the axis that scale and zero go along if they have rank 1"},
              [DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .fallback.dtype = TAKT_I8,
                         .summary = "the quantised type"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = (TAKT_FLOATS | TAKT_QUANTISED) & ~(TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_U64)),
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .no_gradient = "its result is an integer",
    .bound = bound,
    .fixed = 6, /* scale and zero */
    .samples =
        {"quantize(f32[3, 4] in (-3, 3), f32[] in (0.01, 0.1), i8[] in (-9, 9))",
         "quantize(f32[2, 3, 2], f32[3] in (0.01, 0.1), u8[3] in (0, 200), dtype=u8)",
         "quantize(f32[5], f32[] in (0.1, 0.2), i4[] in (-8, 7), axis=0, dtype=i4)",
         "quantize(f64[2, 2], f64[2] in (0.01, 0.1), i16[2] in (-99, 99), axis=-2, dtype=i16)",
         "quantize(f32[7], f32[] in (0.001, 0.1), u16[] in (0, 999), dtype=u16)",
         "quantize(f32[7], f32[] in (0.001, 0.1), i32[] in (-99, 99), dtype=i32)",
         "quantize(f32[7], f32[] in (0.001, 0.1), u32[] in (0, 999), dtype=u32)",
         "quantize(f16[3, 3], f16[] in (0.1, 0.2), u4[] in (0, 15), dtype=u4)",
         "quantize(f32[7], f32[] in (0.5, 1), i2[] in (-2, 1), dtype=i2)",
         "quantize(f32[7], f32[] in (0.5, 1), u2[] in (0, 3), dtype=u2)"},
};
