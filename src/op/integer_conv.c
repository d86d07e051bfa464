/* integer_conv.c - convolution of 8-bit integers with zero points, exact, optionally requantised.
 *
 * Padding is the zero point, so 0 after it has been subtracted. */
#include "op/util/conv.h"
#include "op/util/integer.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_conv_infer(in, in->type[0], in->type[1], &in->out[0]));
    return takt_integer_infer(in, in->type[1]->dim[0]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const int rank = n->type->rank;
    const bool is_nhwc = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    if (takt_integer_is_other(g, n)) {
        out[0] = takt_integer_lower_other(g, n, is_nhwc ? 0 : rank - 2);
        return;
    }
    const takt_id x = takt_integer_shifted(g, n, TAKT_INTEGER_A, 0);
    const takt_id w = takt_integer_shifted(g, n, TAKT_INTEGER_B, rank - 1);
    out[0] = takt_integer_finish(g, n, takt_conv_make(g, n, x, w), is_nhwc ? 0 : rank - 2);
}

const takt_op takt_op_integer_conv = {
    .name = "integer_conv",
    .summary = "convolution of 8-bit integers less their zero points, summed in i32, and "
               "requantised if there is a scale",
    .in_min = 2,
    .in_max = TAKT_INTEGER_ALL,
    .in_names = {"x", "w", "x_zero", "w_zero", "bias", "scale", "zero", "shift"},
    .attrs = {TAKT_CONV_ATTRS},
    .traits = TAKT_CONTRACTS,
    .dtypes = TAKT_BYTES | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F64),
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .cost = takt_conv_y_cost,
    .samples = {"integer_conv(u8[2, 3, 5, 6], i8[4, 3, 3, 3], u8[], pad=[1, 1, 1, 1])",
                "integer_conv(i8[1, 7, 5, 6], u8[4, 3, 2, 6], i8[], u8[4], layout=nhwc, "
                "stride=[2, 1], pad=[1, 0, 0, 2])",
                "integer_conv(u8[1, 7, 5, 6], i8[18, 1, 1, 6], u8[], i8[], i32[18] in (-99, 99), "
                "f32[18] in (0.001, 0.01), u8[], layout=nhwc)",
                "integer_conv(u8[2, 6, 5, 6], i8[6, 3, 3, 1], u8[], i8[6], i32[6] in (-99, 99), "
                "f32[6] in (0.001, 0.01), i8[], groups=6, pad=[1, 1, 1, 1], layout=nhwc)",
                "integer_conv(u8[1, 8, 9], i8[4, 2, 3], u8[], i8[], i32[4] in (-99, 99), f32[] in "
                "(0.001, 0.01), u8[], groups=4, dilation=[2])",
                "integer_conv(i8[1, 5, 6, 8], i8[6, 3, 3, 4], i8[], i8[], i32[6] in (-99, 99), "
                "f32[] in (0.001, 0.01), groups=2, layout=nhwc)",
                "integer_conv(i8[1, 5, 6, 8], i8[6, 3, 3, 8], i8[], i8[], i32[6] in (-99, 99), "
                "i32[6] in (1073741824, 2147483647), i8[], i32[6] in (-12, -5), layout=nhwc)",
                "integer_conv(u8[2, 6, 5, 6], i8[6, 3, 3, 1], u8[], i8[6], i32[6] in (-99, 99), "
                "i32[] in (1073741824, 2147483647), i8[], i32[] in (-12, -5), groups=6, "
                "pad=[1, 1, 1, 1], layout=nhwc)",
                "integer_conv(u8[1, 3, 5, 6], i8[4, 3, 2, 2], u8[], i8[], i32[4] in (-99, 99), "
                "i32[4] in (1073741824, 2147483647), u8[], i32[4] in (-9, 1))"},
};
