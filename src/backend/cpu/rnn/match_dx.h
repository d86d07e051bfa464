/* match_dx.h - recognising the gradient of a recurrent cell in the body of a scan. */
#ifndef TAKT_BACKEND_CPU_RNN_MATCH_DX_H
#define TAKT_BACKEND_CPU_RNN_MATCH_DX_H

#include "backend/cpu/cpu.h"
#include "kernel/rnn_dx_f32/rnn_dx_f32.h"

/* Inputs and results are numbered as in the scan, which is as in its body; -1: absent. */
typedef struct takt_rnn_dx_match {
    takt_rnn_dx_kind kind;
    size_t batch, units, gates;
    int dh, dc, dy, start, kept[TAKT_RNN_DX_KEPT], r;
    int gate[TAKT_RNN_DX_GATES]; /* per gate of the kernel: which part of the results it is */
    bool is_transposed;          /* r is [units, gates * units] */
    int dh_out, dc_out;
    int to[2]; /* gradients of the inputs, and those that are multiplied by r; one may be both */
} takt_rnn_dx_match;

/* Whether the body of `scan` is the gradient of a GRU or LSTM (grad/scan_keep.c). */
bool takt_rnn_dx_find(const takt_node *scan, takt_rnn_dx_match *match);

#endif
