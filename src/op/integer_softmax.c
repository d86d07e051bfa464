/* integer_softmax.c - softmax of bytes over the last axis, in fixed point, as in TensorFlow Lite.
 *
 *     e = table[greatest - x]                e^-d of distances d, without integer bits
 *     sum = sum of (e + 2^11) / 2^12         in i32
 *     2^z = the power from 2^1 to 2^12 by which sum becomes at least 2^31
 *     r = 1 / (1 + (sum * 2^z - 2^31)), three steps of Newton's method
 *     y = (rescale(e, r) + half) / 2^(43 - bits - z), clamped to 0 and 2^bits - 1
 *
 * The result is y plus the least number of its type. Integers wrap, quotients round towards 0.
 */
#include "op/util/check.h"
#include "op/util/integer.h"
#include "op/util/make.h"

enum { X, TABLE };
enum { DTYPE };
enum { FIRST = 20, LAST = 30 }; /* powers of two that sums are compared with */

static takt_status infer(takt_infer *in)
{
    const takt_dtype dtype = in->attr[DTYPE].dtype;
    TAKT_TRY(takt_infer_dtype(in, X, TAKT_BYTES, "i8 or u8"));
    TAKT_TRY(takt_infer_rank(in, X, 1, TAKT_MAX_RANK));
    TAKT_TRY(takt_infer_dtype(in, TABLE, TAKT_IN(TAKT_I32), "i32"));
    TAKT_TRY(takt_infer_vector(in, TABLE, 256));
    if (dtype != TAKT_I8 && dtype != TAKT_U8 && dtype != TAKT_I16)
        return takt_infer_fail(in, TAKT_E_ATTR, "dtype must be i8, u8 or i16, got %s",
                               takt_dtype_name(dtype));
    in->out[0] = *in->type[X];
    in->out[0].dtype = dtype;
    return TAKT_OK;
}

static takt_id number(takt_graph *g, takt_id like, double value)
{
    return takt_scalar_like(g, like, value);
}

/* High half of 2 * a * b. */
static takt_id high(takt_graph *g, takt_id a, takt_id b)
{
    const takt_id in[] = {a, b, number(g, b, 0)};
    return takt_graph_call(g, &takt_op_rescale, 3, in, 0, NULL);
}

/* 2^z: doubled for each power that exceeds the sum. */
static takt_id power_of(takt_graph *g, takt_id sum)
{
    takt_id by = number(g, sum, 2);
    for (int k = FIRST; k <= LAST; k++) {
        const takt_id less =
            takt_binary(g, &takt_op_lt, sum, number(g, sum, (double)(INT64_C(1) << k)));
        by = takt_mul(g, by, takt_add(g, takt_cast(g, less, TAKT_I32), number(g, sum, 1)));
    }
    return by;
}

/* 1 / (1 + a) of a number from 0 to 1 without integer bits. */
static takt_id reciprocal(takt_graph *g, takt_id a)
{
    const takt_id half = takt_add(g, takt_div(g, a, number(g, a, 2)), number(g, a, 1073741824));
    takt_id x = takt_add(g, number(g, a, 1515870810), high(g, half, number(g, a, -1010580540)));
    for (int i = 0; i < 3; i++) {
        const takt_id error = takt_sub(g, number(g, a, 536870912), high(g, half, x));
        x = takt_add(g, x, takt_mul(g, high(g, x, error), number(g, a, 4)));
    }
    const takt_id over = takt_binary(g, &takt_op_gt, x, number(g, a, 1073741823));
    return takt_select(g, over, number(g, a, 2147483647), takt_mul(g, x, number(g, a, 2)));
}

/* (x + half) / by, of i64. */
static takt_id nearest(takt_graph *g, takt_id x, takt_id by)
{
    return takt_div(g, takt_add(g, x, takt_div(g, by, number(g, by, 2))), by);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const int64_t last = -1;
    const takt_id given = n->in[X], table = n->in[TABLE];
    const takt_dtype dtype = n->attr[DTYPE].dtype;
    const int bits = takt_dtype_bits(dtype);
    const takt_id greatest = takt_reduce_over(g, &takt_op_reduce_max, given, &last, 1, true);
    const takt_id apart =
        takt_sub(g, takt_cast(g, greatest, TAKT_I32), takt_cast(g, given, TAKT_I32));
    const takt_id e = takt_binary(g, &takt_op_look_up, takt_cast(g, apart, TAKT_U8), table);
    const takt_id wide = takt_cast(g, e, TAKT_I64);
    const takt_id part = takt_cast(g, nearest(g, wide, number(g, wide, 1 << 12)), TAKT_I32);
    const takt_id sum = takt_reduce_over(g, &takt_op_reduce_sum, part, &last, 1, true);
    const takt_id by = power_of(g, sum);
    const takt_id above = takt_sub(g, takt_mul(g, sum, by), number(g, sum, -2147483648.0));
    const takt_id ratio = takt_cast(g, high(g, e, reciprocal(g, above)), TAKT_I64);
    const takt_id shift = takt_div(g, number(g, ratio, (double)(INT64_C(1) << (43 - bits))),
                                   takt_cast(g, by, TAKT_I64));
    const takt_named_attr bounds[] = {{"min", takt_attr_f64(0)},
                                      {"max", takt_attr_f64((double)((1 << bits) - 1))}};
    takt_id y = nearest(g, ratio, shift);
    y = takt_graph_call(g, &takt_op_clip, 1, &y, 2, bounds);
    if (takt_dtype_is_signed(dtype))
        y = takt_sub(g, y, number(g, y, (double)(1 << (bits - 1))));
    out[0] = takt_cast(g, y, dtype);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = 8 * takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_integer_softmax = {
    .name = "integer_softmax",
    .summary = "softmax of bytes over the last axis in fixed point, from a table of exponentials",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "table"},
    .attrs = {[DTYPE] = {.name = "dtype",
                         .type = TAKT_ATTR_DTYPE,
                         .fallback.dtype = TAKT_I8,
                         .summary = "of the result: i8, u8 or i16"}},
    .dtypes = TAKT_BYTES | TAKT_IN(TAKT_I32),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"integer_softmax(i8[3, 7], i32[256])",
                "integer_softmax(u8[2, 3, 19], i32[256], "
                "dtype=u8)",
                "integer_softmax(i8[40], i32[256], dtype=i16)"},
};
