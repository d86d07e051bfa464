/* Conv.c - CONV_2D: channels last, weights [out, rows, columns, in]. */
#include "io/tflite/window.h"

static takt_status adapt(takt_tfl_call *c)
{
    enum { PADDING, STRIDE_W, STRIDE_H, ACTIVATION, DILATION_W, DILATION_H };
    const takt_id x = takt_tfl_need(c, 0), k = takt_tfl_as_bytes(c, takt_tfl_need(c, 1));
    const takt_type tx = *takt_type_of(c->g, x), tk = *takt_type_of(c->g, k);
    if (!takt_tfl_good(c))
        return c->status;
    if (tx.rank != 4 || tk.rank != 4 || tk.dim[3] < 1 || tx.dim[3] % tk.dim[3] != 0)
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
                             .w = k,
                             .bias = takt_tfl_in(c, 2),
                             .tw = takt_tfl_tensor_in(c, 1),
                             .groups = tx.dim[3] / tk.dim[3],
                             .activation = takt_tfl_u8(c, ACTIVATION, 0)};
    return takt_tfl_done(c, takt_tfl_convolve(c, &w, &v));
}

const takt_tflite_op takt_tflite_Conv = {.names = {"CONV_2D"}, .options = 1, .adapt = adapt};
