/* lstm.h - recurrent layers of four gates: shared by floats and integers. */
#ifndef TAKT_IO_TFLITE_LSTM_H
#define TAKT_IO_TFLITE_LSTM_H

#include "io/tflite/quant.h"

/* Gates in this order throughout: input, forget, cell, output. */
enum { TAKT_LSTM_I, TAKT_LSTM_F, TAKT_LSTM_G, TAKT_LSTM_O, TAKT_LSTM_GATES };

/* Input numbers of each part of the operator. */
typedef struct takt_tfl_lstm {
    size_t w, r, peep, bias, project, h, c,
        norm; /* the first of several; norm: 0 if there is none */
    float cell_clip, project_clip;
    int activation;
    bool is_asymmetric, is_reverse;
    int64_t steps, batch, inputs, cells, outputs;
    bool couples; /* no input gate: it is 1 minus the forget gate */
} takt_tfl_lstm;

/* Body of a scan over time, under construction: a call whose graph is the body. */
typedef struct takt_tfl_body {
    takt_tfl_call inner;
    takt_id h, c, x;
    takt_id r; /* recurrent weights of all gates, if passed in; else TAKT_NONE */
    takt_id h_next, c_next;
} takt_tfl_body;

/* x [steps, batch, gates * cells] for the whole sequence to y [steps, batch, outputs]; the states'
 * next values are set. `build` makes one step; `r` is passed to it, unless it is TAKT_NONE. */
typedef void takt_tfl_step(takt_tfl_body *b, const takt_tfl_lstm *l);
takt_id takt_tfl_recur(takt_tfl_call *c, const takt_tfl_lstm *l, takt_id x, takt_id r,
                       takt_tfl_step *build);

/* Number of gates, and the input that has gate `k`'s part of a list that begins at `first`. */
static inline size_t takt_lstm_input(size_t first, int gate)
{
    return first + (size_t)gate;
}
static inline int takt_lstm_first(const takt_tfl_lstm *l)
{
    return l->couples ? TAKT_LSTM_F : TAKT_LSTM_I;
}
/* Gate `k` of a value that has all gates on its last axis. */
takt_id takt_lstm_gate(takt_tfl_call *c, const takt_tfl_lstm *l, takt_id all, int gate);
/* Constant input `i` as a constant of the body; TAKT_NONE if it was left out. */
takt_id takt_lstm_constant(takt_tfl_body *b, size_t i);
/* The weights of all gates, stacked and transposed: [in, gates * cells]. */
takt_id takt_lstm_weights(takt_tfl_call *c, const takt_tfl_lstm *l, size_t first);

takt_id takt_tfl_lstm_floats(takt_tfl_call *c, takt_tfl_lstm *l, takt_id x);
takt_id takt_tfl_lstm_integers(takt_tfl_call *c, takt_tfl_lstm *l, takt_id x);

#endif
