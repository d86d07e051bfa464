/* integer_mul.c - multiplies bytes with different scales, in fixed point.
 *
 *     result = rescale((x - x_zero) * (y - y_zero), multiplier, shift) + zero, clamped to low and
 *     high
 *
 * This is how TensorFlow Lite multiplies quantised tensors.
 */
#include "op/util/check.h"
#include "op/util/integer.h"
#include "op/util/make.h"

enum { X_ZERO, Y_ZERO, MULTIPLIER, SHIFT, ZERO, LOW, HIGH };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_BYTES, "i8 or u8"));
    TAKT_TRY(takt_check_same_dtype(in, 0, 1));
    const takt_dtype dtype = in->type[0]->dtype;
    const int64_t least = dtype == TAKT_I8 ? -128 : 0;
    for (int i = 0; i <= HIGH; i++) {
        const int64_t value = in->attr[i].i64;
        const bool is_level = i != MULTIPLIER && i != SHIFT;
        if (is_level && (value < least || value > least + 255))
            return takt_infer_fail(in, TAKT_E_ATTR, "%s is %lld, which is not a valid %s",
                                   in->op->attrs[i].name, (long long)value, takt_dtype_name(dtype));
        if (value < INT32_MIN || value > INT32_MAX)
            return takt_infer_fail(in, TAKT_E_ATTR, "%s does not fit into 32 bits",
                                   in->op->attrs[i].name);
    }
    if (in->attr[LOW].i64 > in->attr[HIGH].i64)
        return takt_infer_fail(in, TAKT_E_ATTR, "low is %lld and high %lld",
                               (long long)in->attr[LOW].i64, (long long)in->attr[HIGH].i64);
    return takt_infer_elementwise(in);
}

static takt_id centred(takt_graph *g, takt_id x, const takt_attr *zero)
{
    const takt_id wide = takt_cast(g, x, TAKT_I32);
    return takt_sub(g, wide, takt_scalar_like(g, wide, (double)zero->i64));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_node old = *n;
    const takt_attr *a = old.attr;
    const takt_dtype dtype = takt_type_of(g, old.in[0])->dtype;
    /* Clamped before the zero point is added, which then cannot wrap. */
    const takt_named_attr bounds[] = {{"min", takt_attr_f64((double)(a[LOW].i64 - a[ZERO].i64))},
                                      {"max", takt_attr_f64((double)(a[HIGH].i64 - a[ZERO].i64))}};
    const takt_id p =
        takt_mul(g, centred(g, old.in[0], &a[X_ZERO]), centred(g, old.in[1], &a[Y_ZERO]));
    const takt_id in[] = {p, takt_scalar_like(g, p, (double)a[MULTIPLIER].i64),
                          takt_scalar_like(g, p, (double)a[SHIFT].i64)};
    takt_id level = takt_graph_call(g, &takt_op_rescale, 3, in, 0, NULL);
    level = takt_graph_call(g, &takt_op_clip, 1, &level, 2, bounds);
    level = takt_add(g, level, takt_scalar_like(g, level, (double)a[ZERO].i64));
    out[0] = takt_cast(g, level, dtype);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 10 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

#define NUMBER(n, what)                                                                            \
    {                                                                                              \
        .name = n, .type = TAKT_ATTR_I64, .summary = what                                          \
    }

const takt_op takt_op_integer_mul = {
    .name = "integer_mul",
    .summary = "x * y of bytes that have their own scales and zero points, in fixed point",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "y"},
    .attrs = {[X_ZERO] = NUMBER("x_zero", "zero point of x"),
              [Y_ZERO] = NUMBER("y_zero", "zero point of y"),
              [MULTIPLIER] = NUMBER("multiplier", "of the product, as rescale has it"),
              [SHIFT] = NUMBER("shift", "of the product, as rescale has it"),
              [ZERO] = NUMBER("zero", "zero point of the result"),
              [LOW] = NUMBER("low", "the least result"),
              [HIGH] = {.name = "high",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 127,
                        .summary = "the greatest result"}},
    .dtypes = TAKT_BYTES,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"integer_mul(i8[3, 70], i8[3, 70], y_zero=5, multiplier=1234567890, shift=-7, "
                "zero=-9, low=-128)",
                "integer_mul(u8[2, 5, 3], u8[5, 1], x_zero=128, multiplier=1134567890, shift=-6, "
                "high=250)",
                "integer_mul(i8[40], i8[3, 1], x_zero=-128, multiplier=-2147483648, shift=15, "
                "zero=-84, low=-128)"},
};
