/* conv_dw.c - gradient of conv with respect to w. */
#include "op/util/bound.h"
#include "op/util/conv.h"

const takt_op takt_op_conv_dw = {
    .name = "conv_dw",
    .summary = "gradient of conv with respect to w",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "dy"},
    .attrs = {TAKT_CONV_ATTRS, [TAKT_CONV_SHAPE] = {.name = "shape",
                                                    .type = TAKT_ATTR_SHAPE,
                                                    .is_required = true,
                                                    .summary = "the shape of w"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_NUMBERS,
    .infer = takt_conv_dw_infer,
    .eval = takt_conv_dw_eval,
    .grad = takt_conv_dw_grad,
    .cost = takt_conv_dw_cost,
    .bound = takt_bound_product,
    .error.roundings = takt_roundings_conv_dw,
    .affine = 3,
    .samples = {"conv_dw(f32[2, 3, 5, 6], f32[2, 4, 5, 6], pad=[1, 1, 1, 1], shape=[4, 3, 3, 3])",
                "conv_dw(f32[2, 7, 5, 2], f32[2, 3, 2, 4], stride=[2, 2], groups=2, layout=nhwc, "
                "shape=[4, 2, 3, 1])",
                "conv_dw(f64[3, 1, 6], f64[3, 2, 3], dilation=[3], shape=[2, 1, 2])"},
};
