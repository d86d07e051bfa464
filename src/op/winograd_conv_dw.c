/* winograd_conv_dw.c - the gradient of a 3x3 convolution with respect to w, by Winograd's
 * transform.
 *
 * It is defined as conv_dw; the pass `winograd` creates it. With the tiles and matrices of
 * winograd_conv, dw = Gt [sum over tiles of (Bt x B) * (A dy At)] G.
 */
#include "op/util/bound.h"
#include "op/util/conv.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_conv_dw_infer(in));
    return takt_conv_check_winograd(in, "winograd_conv_dw", &in->out[0]);
}

const takt_op takt_op_winograd_conv_dw = {
    .name = "winograd_conv_dw",
    .summary = "gradient of a 3x3 convolution with respect to w, by Winograd's transform",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "dy"},
    .attrs = {TAKT_CONV_ATTRS, [TAKT_CONV_SHAPE] = {.name = "shape",
                                                    .type = TAKT_ATTR_SHAPE,
                                                    .is_required = true,
                                                    .summary = "the shape of w"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = takt_conv_dw_eval,
    .grad = takt_conv_dw_grad,
    .cost = takt_conv_dw_cost, /* of the direct form, as readers of flops expect */
    .bound = takt_bound_winograd_dw,
    .error.roundings = takt_roundings_conv_dw,
    .affine = 3,
    .samples = {"winograd_conv_dw(f32[2, 3, 5, 6], f32[2, 4, 5, 6], pad=[1, 1, 1, 1], "
                "shape=[4, 3, 3, 3])",
                "winograd_conv_dw(f32[1, 5, 9, 3], f32[1, 4, 9, 4], pad=[0, 2, 1, 0], "
                "layout=nhwc, shape=[4, 3, 3, 3])",
                "winograd_conv_dw(f64[3, 1, 6, 4], f64[3, 2, 4, 2], shape=[2, 1, 3, 3])"},
};
