/* narrow.h - the operands of narrow_conv. */
#ifndef TAKT_OP_UTIL_NARROW_H
#define TAKT_OP_UTIL_NARROW_H

#include "op/util/check.h"
#include "op/util/conv.h"

enum {
    TAKT_NARROW_X,
    TAKT_NARROW_W,
    TAKT_NARROW_BIAS,     /* f32, one for each channel */
    TAKT_NARROW_RESIDUAL, /* bf16, of the result's shape */
    TAKT_NARROW_INPUTS
};

/* Maximum taps of a depthwise convolution: kernels look up the position of each. */
enum { TAKT_NARROW_TAPS = 64 };

/* Channels in times channels out of a convolution on patches, at least: with fewer, gathering in 16
 * bits costs more than its products save (measured from 1 to 8 in, 8 to 64 out, 3x3 to 7x7). */
enum { TAKT_NARROW_CHANNELS = 64 };

/* Attributes after those of conv. */
enum { TAKT_NARROW_MIN = TAKT_CONV_LAYOUT + 1, TAKT_NARROW_MAX };

#endif
