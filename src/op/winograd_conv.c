/* winograd_conv.c - a 3x3 convolution that is computed by Winograd's transform F(4x4, 3x3).
 *
 * It is defined as conv; the pass `winograd` replaces conv by it, so that the choice is visible in
 * the graph. The backend decides how to compute it: kernel/winograd_f32.
 */
#include "op/util/bound.h"
#include "op/util/conv.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_conv_infer(in, in->type[0], in->type[1], &in->out[0]));
    return takt_conv_check_winograd(in, "winograd_conv", in->type[1]);
}

const takt_op takt_op_winograd_conv = {
    .name = "winograd_conv",
    .summary = "3x3 convolution by Winograd's transform, without bias",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "w"},
    .attrs = {TAKT_CONV_ATTRS},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = takt_conv_y_eval,
    .grad = takt_conv_y_grad,
    .cost = takt_conv_y_cost, /* of the direct form, as readers of flops expect */
    .bound = takt_bound_winograd,
    .error.roundings = takt_roundings_conv,
    .affine = 3,
    .samples = {"winograd_conv(f32[2, 3, 5, 6], f32[4, 3, 3, 3], pad=[1, 1, 1, 1])",
                "winograd_conv(f32[1, 5, 9, 3], f32[4, 3, 3, 3], pad=[0, 2, 1, 0], layout=nhwc)",
                "winograd_conv(f64[1, 2, 4, 4], f64[2, 2, 3, 3])"},
};
