/* rescale.c - integers times a fixed-point fraction, as TensorFlow Lite requantises.
 *
 * i32: the high half of x * 2^shift * multiplier * 2, then divided by 2^-shift if that is more
 *        than 1: rounded twice, halves towards plus infinity, then away from zero.
 * i64: the multiplier is rounded to 16 bits first; x * multiplier * 2^(shift - 15), rounded once,
 *        halves towards plus infinity. The result is that of 32 bits.
 *
 * Results that do not fit wrap. A shift beyond 31 counts modulo 32; of 64 bits it is bounded so
 * that 15 - shift lies from 0 to 62.
 */
#include "op/util/make.h"

static int32_t narrow(int64_t x, int64_t multiplier, int64_t shift)
{
    const uint32_t left = shift > 0 ? (uint32_t)shift & 31 : 0;
    const uint32_t right = shift < 0 ? (0u - (uint32_t)shift) & 31 : 0;
    const int64_t moved = (int32_t)((uint32_t)x << left);
    const int32_t high = (int32_t)(uint32_t)(((uint64_t)(moved * multiplier) + (1u << 30)) >> 31);
    const int32_t mask = (int32_t)((1u << right) - 1);
    const int32_t half = (mask >> 1) + (high < 0);
    return (high >> right) + ((high & mask) > half);
}

enum { MOST = 0x7fff };

static int32_t wide(int64_t x, int64_t multiplier, int64_t shift)
{
    const int64_t given = shift < -47 ? 62 : shift > 15 ? 0 : 15 - shift;
    const uint32_t right = (uint32_t)given;
    const int64_t half = right > 0 ? INT64_C(1) << (right - 1) : 0;
    const int64_t near = (int64_t)((uint64_t)multiplier + 0x8000) >> 16;
    const int64_t factor = multiplier < (int64_t)MOST << 16 ? near : MOST;
    const int64_t sum = (int64_t)((uint64_t)x * (uint64_t)factor + (uint64_t)half);
    return (int32_t)(uint32_t)(sum >> right);
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    return s->dtype == TAKT_I32 ? narrow(x[0], x[1], x[2]) : wide(x[0], x[1], x[2]);
}

static takt_id number(takt_graph *g, takt_id like, double value)
{
    return takt_scalar_like(g, like, value);
}

static takt_id shifted(takt_graph *g, const takt_op *op, takt_id x, takt_id by)
{
    return takt_binary(g, op, x, by);
}

static takt_id lower_narrow(takt_graph *g, takt_id x, takt_id multiplier, takt_id shift)
{
    const takt_id zero = number(g, shift, 0), limit = number(g, shift, 31);
    const takt_id left =
        takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_max, shift, zero), limit);
    const takt_id right =
        takt_binary(g, &takt_op_and, takt_neg(g, takt_binary(g, &takt_op_min, shift, zero)), limit);
    const takt_id moved = takt_cast(g, shifted(g, &takt_op_shl, x, left), TAKT_I64);
    const takt_id product = takt_mul(g, moved, takt_cast(g, multiplier, TAKT_I64));
    const takt_id sum = takt_add(g, product, takt_scalar_i64(g, INT64_C(1) << 30));
    const takt_id high =
        takt_cast(g, shifted(g, &takt_op_shr, sum, takt_scalar_i64(g, 31)), TAKT_I32);
    const takt_id mask =
        takt_sub(g, shifted(g, &takt_op_shl, number(g, right, 1), right), number(g, right, 1));
    const takt_id negative = takt_binary(g, &takt_op_lt, high, zero);
    const takt_id half = takt_add(g, shifted(g, &takt_op_shr, mask, number(g, right, 1)),
                                  takt_cast(g, negative, TAKT_I32));
    const takt_id rest = takt_binary(g, &takt_op_and, high, mask);
    const takt_id up = takt_cast(g, takt_binary(g, &takt_op_gt, rest, half), TAKT_I32);
    return takt_add(g, shifted(g, &takt_op_shr, high, right), up);
}

/* A number that is known before the run. */
static bool is_known(const takt_graph *g, takt_id id, int64_t *value)
{
    const takt_node *n = &g->nodes[id];
    if (n->op != &takt_op_constant || n->type->rank != 0)
        return false;
    *value = takt_dtype_get_i(n->type->dtype, takt_tensor_data(n->attr[0].tensor), 0);
    return true;
}

/* By numbers that are known, in fewer operations: the high half fits into 32 bits unless the
 * multiplier is the least number, so 64 bits have room for what rounding adds. */
static takt_id lower_known(takt_graph *g, takt_id x, int64_t multiplier, int64_t shift)
{
    const int64_t left = shift > 0 ? shift & 31 : 0, right = shift < 0 ? -shift & 31 : 0;
    const takt_id raised = left > 0 ? shifted(g, &takt_op_shl, x, number(g, x, (double)left)) : x;
    const takt_id product =
        takt_mul(g, takt_cast(g, raised, TAKT_I64), takt_scalar_i64(g, multiplier));
    const takt_id sum = takt_add(g, product, takt_scalar_i64(g, INT64_C(1) << 30));
    takt_id high = shifted(g, &takt_op_shr, sum, takt_scalar_i64(g, 31));
    if (right > 0) { /* halves away from zero: negative numbers are one less before they go up */
        const takt_id sign = shifted(g, &takt_op_shr, high, takt_scalar_i64(g, 63));
        const takt_id half = takt_scalar_i64(g, INT64_C(1) << (right - 1));
        high = takt_add(g, takt_add(g, high, sign), half);
        high = shifted(g, &takt_op_shr, high, takt_scalar_i64(g, right));
    }
    return takt_cast(g, high, TAKT_I32);
}

static takt_id lower_wide(takt_graph *g, takt_id x, takt_id multiplier, takt_id shift)
{
    const takt_id right = takt_binary(
        g, &takt_op_sub, takt_scalar_i64(g, 15),
        takt_binary(g, &takt_op_min, takt_binary(g, &takt_op_max, shift, takt_scalar_i64(g, -47)),
                    takt_scalar_i64(g, 15)));
    const takt_id one = takt_scalar_i64(g, 1);
    const takt_id half = shifted(g, &takt_op_shr, shifted(g, &takt_op_shl, one, right), one);
    const takt_id near =
        shifted(g, &takt_op_shr, takt_add(g, multiplier, takt_scalar_i64(g, 0x8000)),
                takt_scalar_i64(g, 16));
    const takt_id is_small =
        takt_binary(g, &takt_op_lt, multiplier, takt_scalar_i64(g, (int64_t)MOST << 16));
    const takt_id factor = takt_select(g, is_small, near, takt_scalar_i64(g, MOST));
    const takt_id sum = takt_add(g, takt_mul(g, x, factor), half);
    return takt_cast(g, takt_cast(g, shifted(g, &takt_op_shr, sum, right), TAKT_I32), TAKT_I64);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0], multiplier = n->in[1], shift = n->in[2];
    int64_t m = INT32_MIN, s = 0;
    if (takt_type_of(g, x)->dtype != TAKT_I32)
        out[0] = lower_wide(g, x, multiplier, shift);
    else if (is_known(g, multiplier, &m) && is_known(g, shift, &s) && m != INT32_MIN)
        out[0] = lower_known(g, x, m, s);
    else
        out[0] = lower_narrow(g, x, multiplier, shift);
}

const takt_op takt_op_rescale = {
    .name = "rescale",
    .summary = "x * multiplier * 2^(shift - 31) in fixed point, rounded as TensorFlow Lite does",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "multiplier", "shift"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64),
    .scalar_i = eval_i,
    .lower = lower,
    .flops_per_element = 8,
    .samples = {"rescale(i32[2, 3] in (-99999, 99999), i32[3] in (1073741824, 2147483647), "
                "i32[3] in (-12, 2))",
                "rescale(i32[70] in (-2147483648, 2147483647), i32[] in (0, 2147483647), i32[] in "
                "(-31, 0))",
                "rescale(i32[9], i32[9] in (-2147483648, 2147483647), i32[9] in (-70, 70))",
                "rescale(i64[2, 5] in (-99999999, 99999999), i64[5] in (1073741824, 2147483647), "
                "i64[5] in (-20, 5))",
                "rescale(i64[7], i64[] in (2147400000, 2147483647), i64[] in (-90, 90))"},
};
