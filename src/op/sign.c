/* sign.c - -1, 0 or 1; NaN and both zeros are unchanged. */
#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] > 0 ? 1 : x[0] < 0 ? -1 : x[0];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    if (takt_dtype_is_unsigned(s->dtype))
        return x[0] != 0;
    return (x[0] > 0) - (x[0] < 0);
}

const takt_op takt_op_sign = {
    .name = "sign",
    .summary = "-1 where x < 0, 1 where x > 0, else x",
    .onnx = {{"Sign", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = takt_grad_zero,
    .bound = takt_bound_exact,
    .samples = {"sign(f32[2, 3])", "sign(f64[7])", "sign(f16[1, 5, 2])", "sign(f32[])",
                "sign(i16[6])", "sign(u64[3])"},
};
