/* rows.h - contract of the row kernels, families rows_f32 and rows_f64.
 *
 *   softmax      m = max x;  e = exp(x - m);  y = e * (1 / sum e)
 *   log_softmax  m = max x;  y = (x - m) - log(sum exp(x - m))
 *   layer_norm   mean = sum x / n;  d = x - mean;  var = sumsq d / n;
 *                y = d * (1 / sqrt(var + epsilon));  y = y * gamma;  y = y + beta
 *   rms_norm     y = x * (1 / sqrt(sumsq x / n + epsilon));  y = y * gamma;  y = y + beta
 *
 *   rounding     every operation written above by itself; sums have the order of reduce/reduce.h,
 *                sumsq is lane = fma(d, d, lane). So a kernel equals its lowering bit for bit.
 *   gamma, beta  n elements each, or NULL, which leaves the operation out; with `plane` > 0
 *                `channels` elements each, of which every `plane` elements of a row share one:
 *                rows are those of channels or groups of channels, n a multiple of plane
 *   aliasing     dst may be exactly src with equal strides; no other overlap
 *   alignment    none beyond that of the element
 *   reads        exactly the rows, gamma and beta; writes exactly n elements of each row of dst
 */
#ifndef TAKT_KERNEL_ROWS_ROWS_H
#define TAKT_KERNEL_ROWS_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"
#include "kernel/poll.h"

typedef enum takt_rows_op {
    TAKT_ROWS_SOFTMAX,
    TAKT_ROWS_LOG_SOFTMAX,
    TAKT_ROWS_LAYER_NORM,
    TAKT_ROWS_RMS_NORM,
    TAKT_ROWS_OP_COUNT
} takt_rows_op;

typedef struct takt_rows_step {
    takt_rows_op op;
    void *dst;
    const void *src;
    size_t rows, n;
    size_t dst_stride, src_stride; /* elements from one row to the next */
    const void *gamma, *beta;      /* norms only */
    double epsilon;                /* norms only; rounded to the family's type */
    size_t plane, channels;        /* norms only; see above */
    size_t first;                  /* with `plane`: the index of row 0 among all */
    bool is_back;                  /* rows from the last to the first, if they are long */
    const takt_poll *poll;         /* polled about every 2^17 elements of a row; or NULL */
} takt_rows_step;

typedef void takt_rows_fn(const takt_rows_step *r);

TAKT_KERNEL_FAMILY(rows_f32, takt_rows_fn)
TAKT_KERNEL_FAMILY(rows_f64, takt_rows_fn)

#endif
