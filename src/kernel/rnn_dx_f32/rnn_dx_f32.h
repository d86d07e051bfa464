/* rnn_dx_f32.h - contract of the gradients of recurrent cells, one step for `rows` sequences.
 *
 * Values that the forward step kept (rnn.h) come in, gradients of the gates' sums go out. With
 * d = dh, + more and + dy where there are such, and c or h what the forward step began with:
 *
 *   gru    kept z, q, m and b = r[2] + bias[2]
 *          dz = (d * h - d * m) * (z * (1 - z));  dm = d * (1 - z) * (1 - m * m)
 *          db = dm * q;  dq = dm * b * (q * (1 - q));  dh' = d * z
 *   lstm   kept i, f, g, o and t = tanh(c')
 *          do = d * t * (o * (1 - o));  e = dc + d * o * (1 - t * t)
 *          di = e * g * (i * (1 - i));  df = e * c * (f * (1 - f));  dg = e * i * (1 - g * g)
 *          dc' = e * f
 *
 *   gates      of gru dz, dq, dm; of lstm di, df, dg, do. They are written to `to[0]` and to
 *              `to[1]`, where gru has db instead of dm; NULL: not written
 *   rounding   every operation by itself, from left to right: no fused multiply-add
 *   bits       equal in every variant, NaN payloads apart
 *   aliasing   dh' may be exactly dh, dc' exactly dc; no other overlap
 *   reads      n floats of every row; writes exactly n of each row; no alignment
 */
#ifndef TAKT_KERNEL_RNN_DX_F32_H
#define TAKT_KERNEL_RNN_DX_F32_H

#include <stddef.h>

#include "kernel/kernel.h"

typedef enum takt_rnn_dx_kind {
    TAKT_RNN_DX_GRU,
    TAKT_RNN_DX_LSTM,
    TAKT_RNN_DX_KINDS
} takt_rnn_dx_kind;

enum { TAKT_RNN_DX_GATES = 4, TAKT_RNN_DX_KEPT = 5 };

typedef struct takt_rnn_dx_f32 {
    takt_rnn_dx_kind kind;
    size_t rows, n;
    const float *dh, *more, *dc; /* `stride` floats from row to row, as dh_next and dc_next */
    const float *dy, *start;     /* start: h of gru, c of lstm */
    const float *kept[TAKT_RNN_DX_KEPT];
    float *to[2][TAKT_RNN_DX_GATES];
    float *dh_next, *dc_next; /* of gru and of lstm, one each */
    size_t stride, dy_stride, start_stride, kept_stride[TAKT_RNN_DX_KEPT], to_stride[2];
} takt_rnn_dx_f32;

typedef void takt_rnn_dx_f32_fn(const takt_rnn_dx_f32 *x);

TAKT_KERNEL_FAMILY(rnn_dx_f32, takt_rnn_dx_f32_fn)

#endif
