/* winograd_conv_dx.c - the gradient of a 3x3 convolution with respect to x, by Winograd's
 * transform.
 *
 * It is defined as conv_dx: a convolution of dy with the reversed weights. The pass `winograd`
 * creates it. Padding before x is at most 2, or the reversed one would begin inside dy.
 */
#include "op/util/bound.h"
#include "op/util/conv.h"

static takt_status infer(takt_infer *in)
{
    const takt_attr *pad = &in->attr[TAKT_CONV_PAD];
    TAKT_TRY(takt_conv_dx_infer(in));
    TAKT_TRY(takt_conv_check_winograd(in, "winograd_conv_dx", in->type[1]));
    for (uint32_t i = 0; i < pad->count / 2; i++)
        if (pad->i64s[i] > 2) {
            takt_fail(in->ctx, TAKT_E_ATTR, "winograd_conv_dx: pad is %lld, at most 2 are possible",
                      (long long)pad->i64s[i]);
            return takt_fail_hint(in->ctx, "conv_dx takes every convolution");
        }
    return TAKT_OK;
}

const takt_op takt_op_winograd_conv_dx = {
    .name = "winograd_conv_dx",
    .summary = "gradient of a 3x3 convolution with respect to x, by Winograd's transform",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"dy", "w"},
    .attrs = {TAKT_CONV_ATTRS, [TAKT_CONV_SHAPE] = {.name = "shape",
                                                    .type = TAKT_ATTR_SHAPE,
                                                    .is_required = true,
                                                    .summary = "the shape of x"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTRACTS,
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .eval = takt_conv_dx_eval,
    .grad = takt_conv_dx_grad,
    .cost = takt_conv_dx_cost, /* of the direct form, as readers of flops expect */
    .bound = takt_bound_winograd_dx,
    .error.roundings = takt_roundings_conv_dx,
    .affine = 3,
    .samples = {"winograd_conv_dx(f32[2, 4, 5, 6], f32[4, 3, 3, 3], pad=[1, 1, 1, 1], "
                "shape=[2, 3, 5, 6])",
                "winograd_conv_dx(f32[1, 5, 10, 4], f32[4, 3, 3, 3], pad=[0, 2, 1, 1], "
                "layout=nhwc, shape=[1, 6, 9, 3])",
                "winograd_conv_dx(f64[1, 2, 4, 4], f64[2, 2, 3, 3], shape=[1, 2, 6, 6])"},
};
