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
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_BYTES, "i8 or u8"));
    TAKT_TRY(takt_check_same_dtype(in, 0, 1));
    const takt_dtype dtype = in->type[0]->dtype;
    const int64_t least = dtype == TAKT_I8 ? -128 : 0;
    const int levels[] = {X_ZERO, Y_ZERO, ZERO, LOW, HIGH};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const int64_t value = in->attr[levels[i]].i64;
        if (value < least || value > least + 255)
            return takt_infer_fail(in, TAKT_E_ATTR, "%s is %lld, which is not a valid %s",
                                   in->op->attrs[levels[i]].name, (long long)value,
                                   takt_dtype_name(dtype));
    }
    for (int i = 0; i <= SHIFT; i++) {
        const int64_t value = in->attr[i].i64;
        if (value < INT32_MIN || value > INT32_MAX)
            return takt_infer_fail(in, TAKT_E_ATTR, "%s does not fit into 32 bits",
                                   in->op->attrs[i].name);
    }
    if (in->attr[LOW].i64 > in->attr[HIGH].i64)
        return takt_infer_fail(in, TAKT_E_ATTR, "low is %lld and high %lld",
                               (long long)in->attr[LOW].i64, (long long)in->attr[HIGH].i64);
    return takt_infer_elementwise(in);
}

static takt_id scaled(takt_graph *g, takt_id x, int64_t multiplier, int64_t shift)
{
    const takt_id in[] = {x, takt_scalar_like(g, x, (double)multiplier),
                          takt_scalar_like(g, x, (double)shift)};
    return takt_graph_call(g, &takt_op_rescale, 3, in, 0, NULL);
}

static takt_id raised(takt_graph *g, takt_id x, const takt_attr *a)
{
    takt_id wide = takt_cast(g, x, TAKT_I32);
    wide = takt_sub(g, wide, takt_scalar_like(g, wide, (double)a[X_ZERO].i64));
    wide = takt_mul(g, wide, takt_scalar_like(g, wide, (double)(1 << 20)));
    return scaled(g, wide, a[X_MULTIPLIER].i64, a[X_SHIFT].i64);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_node old = *n;
    const takt_attr *a = old.attr;
    const takt_dtype dtype = takt_type_of(g, old.in[0])->dtype;
    /* Clamped before the zero point is added, which then cannot wrap. */
    const takt_named_attr bounds[] = {{"min", takt_attr_f64((double)(a[LOW].i64 - a[ZERO].i64))},
                                      {"max", takt_attr_f64((double)(a[HIGH].i64 - a[ZERO].i64))}};
    const takt_id x = raised(g, old.in[0], a), y = raised(g, old.in[1], a + Y_ZERO);
    const takt_id sum = a[MINUS].boolean ? takt_sub(g, x, y) : takt_add(g, x, y);
    takt_id level = scaled(g, sum, a[MULTIPLIER].i64, a[SHIFT].i64);
    level = takt_graph_call(g, &takt_op_clip, 1, &level, 2, bounds);
    level = takt_add(g, level, takt_scalar_like(g, level, (double)a[ZERO].i64));
    out[0] = takt_cast(g, level, dtype);
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
