/* conv_dx.c - gradient of conv with respect to x; also known as transposed convolution. */
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/conv.h"

const takt_op takt_op_conv_dx = {
    .name = "conv_dx",
    .summary = "gradient of conv with respect to x: transposed convolution",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"dy", "w"},
    .attrs = {TAKT_CONV_ATTRS, [TAKT_CONV_SHAPE] = {.name = "shape",
                                                    .type = TAKT_ATTR_SHAPE,
                                                    .is_required = true,
                                                    .summary = "the shape of x"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS | TAKT_AMP_FACTORS,
    .dtypes = TAKT_NUMBERS,
    .infer = takt_conv_dx_infer,
    .eval = takt_conv_dx_eval,
    .grad = takt_conv_dx_grad,
    .cost = takt_conv_dx_cost,
    .bound = takt_bound_product,
    .error.roundings = takt_roundings_conv_dx,
    .affine = 3,
    .samples = {"conv_dx(f32[2, 4, 5, 6], f32[4, 3, 3, 3], pad=[1, 1, 1, 1], shape=[2, 3, 5, 6])",
                "conv_dx(f32[1, 4, 3, 2], f32[4, 1, 2, 3], stride=[2, 2], groups=2, "
                "shape=[1, 2, 7, 5])",
                "conv_dx(f32[1, 3, 4], f32[4, 2, 3], stride=[2], layout=nhwc, shape=[1, 7, 3])",
                "conv_dx(f64[1, 2, 3], f64[2, 1, 2], dilation=[3], shape=[1, 1, 6])"},
};
