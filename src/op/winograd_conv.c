/* winograd_conv.c - a 3x3 convolution that is computed by Winograd's transform F(4x4, 3x3).
 *
 * It means what conv means; the pass `winograd` makes it of conv, so that the choice is visible in
 * the graph. How it is computed is the backend's business: kernel/winograd_f32.
 */
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/conv.h"

static bool all_ones(const takt_attr *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->i64s[i] != 1)
            return false;
    return true;
}

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_conv_infer(in, in->type[0], in->type[1], &in->out[0]));
    const takt_type *w = in->type[1];
    const int space = in->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? 1 : 2;
    if (w->rank == 4 && w->dim[space] == 3 && w->dim[space + 1] == 3 &&
        all_ones(&in->attr[TAKT_CONV_STRIDE]) && all_ones(&in->attr[TAKT_CONV_DILATION]) &&
        in->attr[TAKT_CONV_GROUPS].i64 == 1)
        return TAKT_OK;
    char text[TAKT_TYPE_TEXT];
    takt_fail(in->ctx, TAKT_E_ATTR,
              "winograd_conv: only 3x3 kernels with stride, dilation and groups 1: w is %s",
              takt_type_text(in->dims, w, text));
    return takt_fail_hint(in->ctx, "conv takes every convolution");
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
    .cost = takt_conv_y_cost, /* of the direct form: what a reader of flops expects */
    .bound = takt_bound_winograd,
    .error.roundings = takt_roundings_conv,
    .affine = 3,
    .samples = {"winograd_conv(f32[2, 3, 5, 6], f32[4, 3, 3, 3], pad=[1, 1, 1, 1])",
                "winograd_conv(f32[1, 5, 9, 3], f32[4, 3, 3, 3], pad=[0, 2, 1, 0], layout=nhwc)",
                "winograd_conv(f64[1, 2, 4, 4], f64[2, 2, 3, 3])"},
};
