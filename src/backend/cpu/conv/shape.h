/* shape.h - a convolution node as numbers and strides: what every way of computing it needs.
 *
 * Spatial axes are held right-aligned in arrays of three; absent ones have size, kernel, stride and
 * dilation 1. Positions, taps and channels are counted row-major, so that a flat number is enough
 * wherever the layout allows it.
 */
#ifndef TAKT_BACKEND_CPU_CONV_SHAPE_H
#define TAKT_BACKEND_CPU_CONV_SHAPE_H

#include "backend/cpu/cpu.h"

typedef struct takt_conv_shape {
    takt_dtype dtype;
    bool is_nhwc;
    size_t batch, groups;
    size_t cin, cout; /* channels of one group */
    size_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3];
    size_t positions; /* of y in one sample */
    size_t area;      /* positions of x in one sample */
    size_t taps;
    size_t k;     /* taps * cin: the number of terms of one element of y */
    size_t k_row; /* of gathered patches and their weights: zeros follow up to a multiple of 4 */
    /* In elements: */
    size_t x_sample, x_at[3], x_channel;
    size_t y_sample, y_position, y_channel;
    size_t w_out, w_tap, w_in;
    bool is_flipped; /* tap t of the weights lies where tap taps - 1 - t would */
} takt_conv_shape;

/* The shape of a conv, conv_dx or conv_dw node, or of Winograd's forms of them; all sizes are known
 * to fit memory. */
takt_conv_shape takt_conv_shape_of(const takt_graph *g, takt_id node);

/* The convolution of dy with rotated weights that is the gradient of `s` by x. Of one group,
 * without stride and dilation, with less padding before each axis than the kernel has taps on it.
 */
takt_conv_shape takt_conv_shape_flipped(const takt_conv_shape *s);

/* One channel in, one out, channels last, f32: the case of the depthwise step. */
bool takt_conv_is_depthwise(const takt_graph *g, takt_id node);

/* The same for f16 or bf16. */
bool takt_conv_is_narrow_depthwise(const takt_graph *g, takt_id node);

/* One tap and no stride, channels last: a patch is a row of x. */
bool takt_conv_is_pointwise(const takt_conv_shape *s);
/* The same in any layout. Then no zeros follow a gathered row, so that a sum that underflows has
 * the sign that it has where x is read in place. */
bool takt_conv_has_one_tap(const takt_conv_shape *s);

/* The coordinates of flat position `flat` in a box of `size`. */
static inline void takt_conv_unflatten(const size_t size[3], size_t flat, size_t at[3])
{
    at[2] = flat % size[2];
    at[1] = flat / size[2] % size[1];
    at[0] = flat / size[2] / size[1];
}

#endif
