/* integer_add.c - adds bytes with different scales, in fixed point.
 *
 *     raised = rescale((x - x_zero) * 2^20, x_multiplier, x_shift); y alike
 *     result = rescale(raised x + raised y, multiplier, shift) + zero, clamped to low and high
 *
 * This is how TensorFlow Lite adds quantised tensors; `minus` subtracts y.
 */
#include "op/util/check.h"
#include "op/util/integer.h"
#include "op/util/make.h"

enum {
    X_ZERO,
    X_MULTIPLIER,
    X_SHIFT,
    Y_ZERO,
    Y_MULTIPLIER,
    Y_SHIFT,
    MULTIPLIER,
    SHIFT,
    ZERO,
    LOW,
    HIGH,
    MINUS
};

static takt_status infer(takt_infer *in)
{
    return takt_integer_infer_levels(in, MULTIPLIER, 1U << X_ZERO | 1U << Y_ZERO);
}

static takt_id raised(takt_graph *g, takt_id x, const takt_attr *a)
{
    takt_id wide = takt_cast(g, x, TAKT_I32);
    wide = takt_sub(g, wide, takt_scalar_like(g, wide, (double)a[X_ZERO].i64));
    wide = takt_mul(g, wide, takt_scalar_like(g, wide, (double)(1 << 20)));
    return takt_integer_rescaled(g, wide, a[X_MULTIPLIER].i64, a[X_SHIFT].i64);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_node old = *n;
    const takt_attr *a = old.attr;
    const takt_dtype dtype = takt_type_of(g, old.in[0])->dtype;
    const takt_id x = raised(g, old.in[0], a), y = raised(g, old.in[1], a + Y_ZERO);
    const takt_id sum = a[MINUS].boolean ? takt_sub(g, x, y) : takt_add(g, x, y);
    out[0] = takt_integer_level(g, sum, a + MULTIPLIER, dtype);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 20 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

#define NUMBER(n, what)                                                                            \
    {                                                                                              \
        .name = n, .type = TAKT_ATTR_I64, .summary = what                                          \
    }

const takt_op takt_op_integer_add = {
    .name = "integer_add",
    .summary = "x + y of bytes that have their own scales and zero points, in fixed point",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "y"},
    .attrs = {[X_ZERO] = NUMBER("x_zero", "zero point of x"),
              [X_MULTIPLIER] = NUMBER("x_multiplier", "of x, as rescale has it"),
              [X_SHIFT] = NUMBER("x_shift", "of x, as rescale has it"),
              [Y_ZERO] = NUMBER("y_zero", "zero point of y"),
              [Y_MULTIPLIER] = NUMBER("y_multiplier", "of y, as rescale has it"),
              [Y_SHIFT] = NUMBER("y_shift", "of y, as rescale has it"),
              [MULTIPLIER] = NUMBER("multiplier", "of the sum, as rescale has it"),
              [SHIFT] = NUMBER("shift", "of the sum, as rescale has it"),
              [ZERO] = NUMBER("zero", "zero point of the result"),
              [LOW] = NUMBER("low", "the least result"),
              [HIGH] = {.name = "high",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = 127,
                        .summary = "the greatest result"},
              [MINUS] = {.name = "minus", .type = TAKT_ATTR_BOOL, .summary = "x - y"}},
    .dtypes = TAKT_BYTES,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"integer_add(i8[3, 70], i8[3, 70], x_multiplier=1073741824, y_zero=5, "
                "y_multiplier=1503238553, y_shift=-1, multiplier=1234567890, shift=-18, zero=-9, "
                "low=-128)",
                "integer_add(u8[2, 5], u8[5], x_zero=128, x_multiplier=1803741824, "
                "y_multiplier=1073741824, multiplier=1134567890, shift=-17, high=250, minus=true)",
                "integer_add(i8[3, 70], i8[3, 70], x_multiplier=-2147483648, "
                "y_multiplier=-2147483648, multiplier=-2147483648, shift=11, zero=-84, low=-128)"},
};
