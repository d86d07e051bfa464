/* spatial.h - kernels, strides and paddings of convolutions and pools, as ONNX gives them. */
#ifndef TAKT_IO_ONNX_SPATIAL_H
#define TAKT_IO_ONNX_SPATIAL_H

#include "io/onnx/adapt.h"

enum { TAKT_ONNX_SPATIAL = 6 };

typedef struct takt_spatial {
    size_t count; /* of spatial axes */
    int64_t kernel[TAKT_ONNX_SPATIAL], stride[TAKT_ONNX_SPATIAL], dilation[TAKT_ONNX_SPATIAL];
    int64_t pad[2 * TAKT_ONNX_SPATIAL]; /* all before, then all after */
    bool ceil; /* a last window may extend past the end; takt_spatial_read leaves it false */
} takt_spatial;

/* Reads strides, dilations, pads and auto_pad for an input of this type; `kernel` holds `count`
 * numbers. */
TAKT_MUST_USE takt_status takt_spatial_read(takt_call *c, const takt_type *x, const int64_t *kernel,
                                            size_t count, takt_spatial *s);
/* Output size of axis `i` for input size `in`. */
int64_t takt_spatial_out(const takt_spatial *s, size_t i, int64_t in);
/* Windows of x [N, C, …] as [N*C, positions, elements of the kernel]; padding is `fill`. `flat`
 * receives the flat spatial index of each element ([positions, elements], -1 in the padding), `out`
 * the output sizes. */
takt_id takt_spatial_unfold(takt_call *c, takt_id x, const takt_spatial *s, double fill,
                            int64_t *out, takt_id *flat);
/* col2im_found.c: Col2Im whose sizes of the picture and of a window, i64[count], a run finds. */
TAKT_MUST_USE takt_status takt_col2im_found(takt_call *c, takt_id image, takt_id block,
                                            size_t count);
/* The result of Conv for inputs 0 and 1, and the bias in 2 if there is one. */
takt_id takt_spatial_conv(takt_call *c);
/* Adapts with `adapt`, which expects channels before the spatial axes; if the attribute
 * channels_last is set, input 0 and the result have them last. */
TAKT_MUST_USE takt_status takt_spatial_either(takt_call *c, takt_status (*adapt)(takt_call *c));

#endif
