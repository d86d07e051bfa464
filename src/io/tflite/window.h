/* window.h - windows of convolutions and pools: strides and the padding that they imply. */
#ifndef TAKT_IO_TFLITE_WINDOW_H
#define TAKT_IO_TFLITE_WINDOW_H

#include "io/tflite/quant.h"

enum { TAKT_TFL_AXES = 3 };

typedef struct takt_tfl_window {
    size_t axes; /* 2 or 3: rows and columns, with planes before them */
    int64_t in[TAKT_TFL_AXES], kernel[TAKT_TFL_AXES], stride[TAKT_TFL_AXES],
        dilation[TAKT_TFL_AXES];
    int64_t pad[2 * TAKT_TFL_AXES], out[TAKT_TFL_AXES];
} takt_tfl_window;

/* Sets pad and out from the rest; `padding`: 0 same, 1 valid. Refuses impossible windows. */
bool takt_tfl_window_set(takt_tfl_call *c, takt_tfl_window *w, int padding);
/* The attributes of conv: stride, dilation, pad, groups, layout; and their count. */
enum { TAKT_TFL_CONV_ATTRS = 5 };
void takt_tfl_window_attrs(const takt_tfl_window *w, int64_t groups,
                           takt_named_attr attrs[static TAKT_TFL_CONV_ATTRS]);
/* A convolution with its bias and activation, channels last: x is input 0, w [out, ..., in /
 * groups]. */
typedef struct takt_tfl_conv {
    takt_id x, w, bias;
    const takt_tfl_tensor *tw;
    int64_t groups;
    int activation;
} takt_tfl_conv;
/* One scale for each of the weights' columns, or for all. */
takt_id takt_tfl_weight_scale(takt_tfl_call *c, const takt_tfl_tensor *t, size_t columns);
takt_id takt_tfl_convolve(takt_tfl_call *c, const takt_tfl_window *w, const takt_tfl_conv *v);

#endif
