/* cell.h - one step of RNN, LSTM and GRU. */
#ifndef TAKT_IO_ONNX_CELL_H
#define TAKT_IO_ONNX_CELL_H

#include "io/onnx/adapt.h"

typedef enum takt_cell_kind { TAKT_CELL_RNN, TAKT_CELL_LSTM, TAKT_CELL_GRU } takt_cell_kind;

typedef struct takt_activation {
    const char *name;
    double alpha, beta;
} takt_activation;

/* Settings that all steps share. */
typedef struct takt_cell {
    takt_cell_kind kind;
    int64_t hidden;
    bool forgets_input;   /* LSTM: input_forget */
    bool is_linear_first; /* GRU: linear_before_reset */
    double clip;          /* 0: none */
    takt_activation act[3];
} takt_cell;

/* Values of one step: ids in the graph being built. */
typedef struct takt_cell_in {
    takt_id h, c;  /* c: LSTM only */
    takt_id x;     /* X W' + input bias: [batch, gates * hidden] */
    takt_id r, rb; /* [gates * hidden, hidden]; [gates * hidden] */
    takt_id p;     /* LSTM's peepholes [3 * hidden], or TAKT_NONE */
    takt_id live;  /* bool [batch, 1]: the sequence has not ended, or TAKT_NONE */
    /* LSTM with r in bytes, [hidden, gates * hidden]; TAKT_NONE: floats, as above. */
    takt_id r_scale, r_zero;
} takt_cell_in;

typedef struct takt_cell_out {
    takt_id h, c, y;
} takt_cell_out;

takt_cell_out takt_cell_step(takt_graph *g, const takt_cell *cell, const takt_cell_in *in);
/* Sets an activation's constants to their defaults; false if its name is unknown. */
bool takt_activation_init(takt_activation *a);
bool takt_activation_has_alpha(const takt_activation *a);
bool takt_activation_has_beta(const takt_activation *a);
/* Adapts RNN, LSTM, GRU and DynamicQuantizeLSTM (op/Recurrent.c). */
takt_status takt_onnx_recurrent(takt_call *c);

#endif
