/* xor.c - logical for bool, bitwise for integers. */
#include "op/ops.h"
#include "op/util/bound.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return x[0] ^ x[1];
}

const takt_op takt_op_xor = {
    .name = "xor",
    .summary = "a xor b: logical for bool, of each bit for integers",
    .onnx = {{"Xor", 7, 0}, {"BitwiseXor", 18, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_COMMUTES | TAKT_PRIMITIVE,
    .dtypes = TAKT_INTS | TAKT_BOOLS,
    .scalar_i = eval_i,
    .no_gradient = "it works on integers and bools",
    .bound = takt_bound_logic,
    .samples = {"xor(bool[2, 3], bool[2, 3])", "xor(bool[4, 1], bool[3])", "xor(i32[5], i32[])",
                "xor(u8[2, 2], u8[2])", "xor(u64[3], u64[3])"},
};
