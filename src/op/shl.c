/* shl.c - a shifted left by b bits; b at or beyond the width gives 0. */
#include "op/ops.h"
#include "op/util/bound.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    const uint64_t by = (uint64_t)x[1]; /* a negative count is a huge one */
    return by < (uint64_t)takt_dtype_bits(s->dtype) ? (int64_t)((uint64_t)x[0] << by) : 0;
}

const takt_op takt_op_shl = {
    .name = "shl",
    .summary = "a shifted left by b bits",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_INTS,
    .scalar_i = eval_i,
    .no_gradient = "it works on integers and bools",
    .bound = takt_bound_any,
    .samples = {"shl(i32[2, 3], i32[3] in (0, 31))", "shl(u8[5], u8[5] in (0, 9))",
                "shl(u64[], u64[4] in (0, 70))", "shl(i64[3, 1], i64[2] in (-2, 5))"},
};
