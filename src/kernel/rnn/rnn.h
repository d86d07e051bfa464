/* rnn.h - contract of the recurrent cells, families rnn_f32 and rnn_f64.
 *
 * One iteration for `rows` sequences and `n` units: from what the inputs and the state before bring
 * to every gate, to the next state. With s[k] = x[k] + (r[k] + bias[k]), or x[k] + r[k] without
 * bias, clip(v) = max(min(v, hi), lo), and a0, a1, ... the activations:
 *
 *   plain   h' = a0(clip(s[0]))
 *   lstm    gates input, forget, cell, output: 0 to 3
 *           i = a0(clip(s[0] + p[0] * c));  f = a1(clip(s[1] + p[1] * c)), or 1 - i if `couples`
 *           g = a2(clip(s[2]));  c' = f * c + i * g, from cell_lo to cell_hi if `clips_cell`
 *           o = a3(clip(s[3] + p[2] * c'));  h' = o * a4(clip(c'))
 *   gru     gates update, reset, new: 0 to 2
 *           z = a0(clip(s[0]));  q = a1(clip(s[1]))
 *           m = a2(clip(x[2] + q * (r[2] + bias[2])));  h' = (1 - z) * m + z * h
 *   gru_reset, gru_update: the same in two halves, where q goes before the product
 *           c' = z;  h' = q * h   and then, with z in c:   m = a2(clip(s[2])), h' as above
 *
 *   live       a row whose byte is 0 keeps its state, h' = h and c' = c, and its y is +0;
 *              NULL: all are live. gru_reset does not ask
 *   y          h' again, elsewhere; NULL: nowhere
 *   keep       what a gradient reads, of every row, live or not: a0(...) to a4(...) as above and,
 * of gru, r[2] + bias[2]; NULL: not kept. gru_reset keeps 0 and 1, gru_update keeps 2 p, bias    n
 * elements each; all NULL where there are none: the operation is left out rounding   every
 * operation above by itself; `rounding` says to what. Then values are the family's type but hold
 * what f16 or bf16 can, only r need not: it is rounded first bits       equal in every variant, NaN
 * payloads apart aliasing   h' may be exactly h, c' exactly c; no other overlap alignment  none
 * beyond that of the element reads      n elements of every row; writes exactly n of each row of
 * h', c', y and kept values
 */
#ifndef TAKT_KERNEL_RNN_RNN_H
#define TAKT_KERNEL_RNN_RNN_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"

typedef enum takt_rnn_kind {
    TAKT_RNN_PLAIN,
    TAKT_RNN_LSTM,
    TAKT_RNN_GRU,
    TAKT_RNN_GRU_RESET,
    TAKT_RNN_GRU_UPDATE,
    TAKT_RNN_KINDS
} takt_rnn_kind;

typedef enum takt_rnn_act {
    TAKT_RNN_SIGMOID,
    TAKT_RNN_TANH,
    TAKT_RNN_RELU,
    TAKT_RNN_ACTS
} takt_rnn_act;

/* In rnn_f64 there is no other than its own. */
typedef enum takt_rnn_rounding {
    TAKT_RNN_OWN,
    TAKT_RNN_F16,
    TAKT_RNN_BF16,
    TAKT_RNN_ROUNDINGS
} takt_rnn_rounding;

enum { TAKT_RNN_GATES = 4, TAKT_RNN_PEEPHOLES = 3, TAKT_RNN_ACTIVATIONS = 5 };
/* Kept values: activations by number, then the recurrent part of a gru's new state. */
enum { TAKT_RNN_BACK = TAKT_RNN_ACTIVATIONS, TAKT_RNN_KEEPS };

/* The part that all iterations share. */
typedef struct takt_rnn_form {
    takt_rnn_kind kind;
    takt_rnn_rounding rounding;
    takt_rnn_act act[TAKT_RNN_ACTIVATIONS];
    bool clips, couples, clips_cell;
    double lo, hi; /* of the clip; numbers, exact in the type */
    double cell_lo, cell_hi;
} takt_rnn_form;

typedef struct takt_rnn_args {
    const takt_rnn_form *form;
    size_t rows, n;
    const void *x[TAKT_RNN_GATES], *r[TAKT_RNN_GATES], *bias[TAKT_RNN_GATES];
    const void *peephole[TAKT_RNN_PEEPHOLES];
    const void *h, *c;
    void *h_next, *c_next, *y;
    const unsigned char *live;
    size_t x_stride, r_stride, y_stride; /* elements from row to row */
    size_t stride;                       /* of h, c, h_next and c_next */
    size_t live_stride;                  /* bytes */
    void *keep[TAKT_RNN_KEEPS];
    size_t keep_stride[TAKT_RNN_KEEPS];
} takt_rnn_args;

typedef void takt_rnn_fn(const takt_rnn_args *t);

TAKT_KERNEL_FAMILY(rnn_f32, takt_rnn_fn)
TAKT_KERNEL_FAMILY(rnn_f64, takt_rnn_fn)

#endif
