/* not.c - logical for bool, bitwise for integers. */
#include "op/ops.h"
#include "op/util/bound.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    return s->dtype == TAKT_BOOL ? x[0] == 0 : ~x[0];
}

const takt_op takt_op_not = {
    .name = "not",
    .summary = "the complement: logical for bool, of all bits for integers",
    .onnx = {{"Not", 1, 0}, {"BitwiseNot", 18, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_INTS | TAKT_BOOLS,
    .scalar_i = eval_i,
    .no_gradient = "it works on integers and bools",
    .bound = takt_bound_logic,
    .samples = {"not(bool[2, 3])", "not(i32[5])", "not(u8[1, 4])", "not(bool[])"},
};
