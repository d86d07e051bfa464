/* winograd_f32.h - contract of the transforms of Winograd's convolution F(4x4, 3x3).
 *
 * A tile is 4x4 outputs; it reads 6x6 inputs. With
 *
 *         [4  0 -5  0  1  0]          [1  1  1  1  1  0]
 *         [0 -4 -4  1  1  0]     At = [0  1 -1  2 -2  0]
 *    Bt = [0  4 -4 -1  1  0]          [0  1  1  4  4  0]
 *         [0 -2 -1  2  1  0]          [0  1 -1  8 -8  1]
 *         [0  2 -1 -2  1  0]
 *         [0  4  0 -5  0  1]
 *
 * the input step computes V = Bt x B, the output step y = end(At M A), each first down the columns,
 * then along the rows, channel by channel. The step for weights that a run transforms computes
 * U = G w Gt, kernel by kernel, with the G of winograd_w_f32.h.
 *
 *   order      Bt: y0 = fma(4, x0, fma(-5, x2, x4)), a = fma(-4, x2, x4), b = fma(-4, x1, x3),
 *              y1 = a + b, y2 = a - b, c = x4 - x2, d = x3 - x1, y3 = fma(2, d, c),
 *              y4 = fma(-2, d, c), y5 = fma(4, x1, fma(-5, x3, x5))
 *              At: s = m1 + m2, d = m1 - m2, t = m3 + m4, e = m3 - m4, y0 = (m0 + s) + t,
 *              y1 = fma(2, e, d), y2 = fma(4, t, s), y3 = fma(8, e, d) + m5
 *              G of a, w, c: b = w / 6, e = (a + c) / -6, s = fma(c, 1/6, a / 24); a / 4, e - b,
 *              e + b, fma(w, 1/12, s), fma(w, -1/12, s), c; a quotient is a product with the
 *              reciprocal, rounded to f32
 *   end        x + bias, + residual, then relu and minimum(x, limit), each if wanted
 *   alignment  none beyond that of float
 *   reads      exactly what the fields say; writes exactly V, U or the rows x cols outputs
 *   aliasing   none
 */
#ifndef TAKT_KERNEL_WINOGRAD_F32_H
#define TAKT_KERNEL_WINOGRAD_F32_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

enum { TAKT_WINOGRAD_OUT = 4, TAKT_WINOGRAD_IN = 6, TAKT_WINOGRAD_POINTS = 36 };

typedef enum takt_winograd_step {
    TAKT_WINOGRAD_INPUT,
    TAKT_WINOGRAD_OUTPUT,
    TAKT_WINOGRAD_WEIGHTS
} takt_winograd_step;

typedef struct takt_winograd_f32 {
    takt_winograd_step step;
    size_t channels;     /* of weights: kernels, at least 16 */
    float *points;       /* V or U (written) or M (read): point p at points + p * point_stride */
    size_t point_stride; /* floats */
    /* Input: x[i][j] at taps[6 i + j] if taps is not NULL, else at x + i * row + j * column.
     * Weights: w[i][j] at taps[3 i + j]. */
    const float *const *taps;
    const float *x;
    size_t row, column; /* floats; of x, or of y and the residual */
    /* Output: */
    size_t rows, cols; /* 1 to 4: how much of the tile exists */
    float *y;
    const float *bias, *residual; /* or NULL */
    bool relu;
    float limit; /* after relu; infinite: none */
} takt_winograd_f32;

typedef void takt_winograd_f32_fn(const takt_winograd_f32 *w);

TAKT_KERNEL_FAMILY(winograd_f32, takt_winograd_f32_fn)

#endif
