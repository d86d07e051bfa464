/* shr.c - a shifted right by b bits, filled with the sign; b at or beyond the width gives 0. */
#include "op/ops.h"
#include "op/util/bound.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    const uint64_t by = (uint64_t)x[1]; /* a negative count is a huge one */
    if (by >= (uint64_t)takt_dtype_bits(s->dtype))
        return 0;
    return takt_dtype_is_unsigned(s->dtype) ? (int64_t)((uint64_t)x[0] >> by) : x[0] >> by;
}

const takt_op takt_op_shr = {
    .name = "shr",
    .summary = "a shifted right by b bits, filled with the sign bit of signed types",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_INTS,
    .scalar_i = eval_i,
    .no_gradient = "it works on integers and bools",
    .bound = takt_bound_any,
    .samples = {"shr(i32[2, 3], i32[3] in (0, 31))", "shr(u8[5], u8[5] in (0, 9))",
                "shr(u64[], u64[4] in (0, 70))", "shr(i64[3, 1], i64[2] in (-2, 5))"},
};
