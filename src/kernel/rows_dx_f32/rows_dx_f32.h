/* rows_dx_f32.h - contract of gradients of row kernels (rows/rows.h) and of cross-entropy.
 *
 *   softmax      s = sum (dy * x);  dx = x * (dy - s)            x is softmax's result
 *   norms        mean = sum x / n;  c = x - mean;  var = sumsq c / n;
 *                scale = 1 / sqrt(var + epsilon);  h = c * scale;  d = dy * gamma;
 *                a = sum (d * h) / n;  e = d - h * a;  e = e - sum d / n;  dx = scale * e
 *                rms_norm: c = x, and without the subtraction of sum d / n
 *   products     h as above;  dx = dy * h                        gamma's gradient before its sum
 *   entropy      m = max x;  l = log(sum exp(x - m));  dx[0] = -((x[label] - m) - l)
 *   entropy_dx   p = exp((x - m) - l);  dx = (p - t) * seed;  t = 1 at the label, else 0
 *
 *   rounding     every operation written above by itself; sums have the order of reduce/reduce.h,
 *                sumsq is lane = fma(c, c, lane). So a kernel equals its lowering bit for bit.
 *   gamma        n elements, or NULL, which leaves the product out
 *   label        one per row, below n; entropy_dx: n and more means that t is 0 everywhere
 *   aliasing     dx may be exactly x or dy with equal strides, but of `entropy`; no other overlap
 *   alignment    none beyond that of float
 *   reads        exactly the rows, gamma, labels and seeds; writes exactly n elements of each row
 *                of dx, `entropy` one
 */
#ifndef TAKT_KERNEL_ROWS_DX_F32_H
#define TAKT_KERNEL_ROWS_DX_F32_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "kernel/poll.h"

typedef enum takt_rows_dx_op {
    TAKT_ROWS_DX_SOFTMAX,
    TAKT_ROWS_DX_LAYER_NORM,
    TAKT_ROWS_DX_RMS_NORM,
    TAKT_ROWS_DX_LAYER_PRODUCT,
    TAKT_ROWS_DX_RMS_PRODUCT,
    TAKT_ROWS_DX_ENTROPY,
    TAKT_ROWS_DX_ENTROPY_DX,
    TAKT_ROWS_DX_OP_COUNT
} takt_rows_dx_op;

typedef struct takt_rows_dx_f32 {
    takt_rows_dx_op op;
    size_t rows, n;
    size_t x_stride, dy_stride, dx_stride; /* elements from one row to the next */
    const float *x;
    const float *dy; /* none for the entropies */
    float *dx;
    const float *gamma;
    double epsilon;      /* rounded to float */
    const size_t *label; /* per row, and so is the next: entropies only */
    const float *seed;
    const takt_poll *poll; /* polled about every 2^17 elements; or NULL */
} takt_rows_dx_f32;

typedef void takt_rows_dx_f32_fn(const takt_rows_dx_f32 *r);

TAKT_KERNEL_FAMILY(rows_dx_f32, takt_rows_dx_f32_fn)

#endif
