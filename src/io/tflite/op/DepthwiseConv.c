/* DepthwiseConv.c - DEPTHWISE_CONV_2D: weights [1, rows, columns, out], a group for each channel.
 */
#include "io/tflite/window.h"

static takt_status adapt(takt_tfl_call *c)
{
    enum { PADDING, STRIDE_W, STRIDE_H, TIMES, ACTIVATION, DILATION_W, DILATION_H };
    static const int64_t perm[] = {3, 1, 2, 0};
    const takt_id x = takt_tfl_need(c, 0), given = takt_tfl_as_bytes(c, takt_tfl_need(c, 1));
    const takt_type tx = *takt_type_of(c->g, x), tk = *takt_type_of(c->g, given);
    if (!takt_tfl_good(c))
        return c->status;
    if (tx.rank != 4 || tk.rank != 4 || tk.dim[0] != 1 || tx.dim[3] < 1 ||
        tk.dim[3] % tx.dim[3] != 0)
        return takt_tfl_refuse(c, "shapes that are not images and filters");
    takt_tfl_window w = {
        .axes = 2,
        .in = {tx.dim[1], tx.dim[2]},
        .kernel = {tk.dim[1], tk.dim[2]},
        .stride = {takt_tfl_i32(c, STRIDE_H, 0), takt_tfl_i32(c, STRIDE_W, 0)},
        .dilation = {takt_tfl_i32(c, DILATION_H, 1), takt_tfl_i32(c, DILATION_W, 1)}};
    if (!takt_tfl_window_set(c, &w, takt_tfl_u8(c, PADDING, 0)))
        return c->status;
    const takt_tfl_conv v = {.x = x,
                             .w = takt_transpose(c->g, given, perm, 4),
                             .bias = takt_tfl_in(c, 2),
                             .tw = takt_tfl_tensor_in(c, 1),
                             .groups = tx.dim[3],
                             .activation = takt_tfl_u8(c, ACTIVATION, 0)};
    return takt_tfl_done(c, takt_tfl_convolve(c, &w, &v));
}

const takt_tflite_op takt_tflite_DepthwiseConv = {
    .names = {"DEPTHWISE_CONV_2D"}, .options = 2, .adapt = adapt};
