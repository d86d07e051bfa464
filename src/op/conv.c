/* conv.c - convolution (correlation) over one to three spatial axes; a bias is an add. */
#include "op/util/conv.h"
#include "op/util/amp.h"
#include "op/util/bound.h"

static takt_status infer(takt_infer *in)
{
    return takt_conv_infer(in, in->type[0], in->type[1], &in->out[0]);
}

const takt_op takt_op_conv = {
    .name = "conv",
    .summary = "convolution over one to three spatial axes, without bias",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "w"},
    .attrs = {TAKT_CONV_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS | TAKT_AMP_FACTORS,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .eval = takt_conv_y_eval,
    .grad = takt_conv_y_grad,
    .cost = takt_conv_y_cost,
    .bound = takt_bound_product,
    .error.roundings = takt_roundings_conv,
    .affine = 3,
    .samples = {"conv(f32[2, 3, 5, 6], f32[4, 3, 3, 3], pad=[1, 1, 1, 1])",
                "conv(f32[1, 4, 7, 5], f32[6, 2, 3, 2], stride=[2, 1], dilation=[1, 2], groups=2, "
                "pad=[0, 1, 2, 0])",
                "conv(f32[2, 5, 6, 3], f32[4, 3, 3, 3], stride=[2, 2], pad=[1, 1, 1, 1], "
                "layout=nhwc)",
                "conv(f64[1, 3, 9], f64[3, 1, 4], groups=3, stride=[3])",
                "conv(f32[1, 2, 3, 4, 3], f32[2, 2, 2, 2, 2])",
                "conv(i32[1, 2, 4, 4] in (-9, 9), i32[3, 2, 1, 1] in (-9, 9))"},
};
