/* window.h - windows of convolutions and pools as TensorFlow Lite has them: SAME, VALID, or a PAD
 * before them. */
#ifndef TAKT_IO_TFLITE_WRITE_WINDOW_H
#define TAKT_IO_TFLITE_WRITE_WINDOW_H

#include "io/tflite/write/emit.h"

typedef struct takt_tflw_window {
    int axes; /* 1 to 3 */
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
} takt_tflw_window;

/* Makes one spatial axis two, the first of size 1; `*x` becomes a tensor of four axes. */
void takt_tflw_widen(takt_tflw *w, takt_tflw_window *v, int32_t *x);
/* A tensor [N, 1, W, C] for the result [N, W, C]. */
int32_t takt_tflw_widened(takt_tflw *w, int32_t y);
/* 0: SAME, 1: VALID. Other padding is added around `*x`: zeros, or `fill`. */
int takt_tflw_window_pad(takt_tflw *w, const takt_tflw_window *v, int32_t *x, const double *fill);
/* Its padding is neither SAME nor none. */
bool takt_tflw_window_is_odd(const takt_tflw_window *v);
/* Adds padding as zeros around `*x`. */
void takt_tflw_window_spread(takt_tflw *w, const takt_tflw_window *v, int32_t *x);

#endif
