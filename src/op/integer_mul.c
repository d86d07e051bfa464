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
    return takt_integer_infer_levels(in, MULTIPLIER, 1U << X_ZERO | 1U << Y_ZERO);
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
    const takt_id p =
        takt_mul(g, centred(g, old.in[0], &a[X_ZERO]), centred(g, old.in[1], &a[Y_ZERO]));
    out[0] = takt_integer_level(g, p, a + MULTIPLIER, dtype);
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
