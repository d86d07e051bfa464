/* match.h - recognising a recurrent cell in the body of a scan. */
#ifndef TAKT_BACKEND_CPU_RNN_MATCH_H
#define TAKT_BACKEND_CPU_RNN_MATCH_H

#include "backend/cpu/cpu.h"
#include "kernel/rnn/rnn.h"

/* Constants of the body have this flag, with their node as number. */
enum { TAKT_RNN_INNER = 1 << 24 };

/* Values that every step began with; scanned results at most. */
enum { TAKT_RNN_STARTS = 2, TAKT_RNN_RESULTS = 1 + TAKT_RNN_STARTS + TAKT_RNN_KEEPS };

/* Inputs are numbered as in the scan, which is as in its body; -1: absent. R, bias and peepholes
 * may be constants of the body. */
typedef struct takt_rnn_match {
    takt_rnn_form form;
    size_t batch, units, gates; /* x is [batch, gates * units] */
    int h, c, x, live, r, bias, peephole;
    int gate[TAKT_RNN_GATES];    /* per gate of the kernel: which part of x, r and bias */
    int eye[TAKT_RNN_PEEPHOLES]; /* likewise of the peepholes; -1: none */
    bool is_transposed;          /* r is [gates * units, units] */
    bool is_bytes;               /* r holds bytes, and the state is quantised in every iteration */
    int r_scale, r_zero;         /* inputs of the scan, one number or one for each column */
    int h_out, c_out, y;         /* results of the scan */
    int start[TAKT_RNN_STARTS];  /* results with the initial values of every step, of h and of c */
    int keep[TAKT_RNN_KEEPS];    /* results with the values kept for a gradient */
} takt_rnn_match;

/* NULL if the body of `scan` is a cell that a kernel computes with the bits of the body; "" if it
 * has no product with a carried value; else why it is not such a cell. */
const char *takt_rnn_find(const takt_node *scan, takt_rnn_match *match);
/* The same for a scan whose units are adjacent in memory, as all kernels read them. */
const char *takt_rnn_find_near(const takt_node *scan, takt_rnn_match *match);

/* The position of a tensor of [iterations, rows], in elements. */
typedef struct takt_rnn_lane {
    size_t iteration, row;
} takt_rnn_lane;

/* Axis `i` of the scan's list `name`: the axis of a tensor of rank 3 that iterations follow. */
int takt_rnn_axis(const takt_node *scan, const char *name, size_t i);
/* The same for the scan's input number `input`. */
int takt_rnn_sequence_axis(const takt_node *scan, int input);
takt_rnn_lane takt_rnn_lane_of(const takt_view *v, int axis);
/* The constant of the body with that number (TAKT_RNN_INNER). */
const takt_tensor *takt_rnn_inner(const takt_node *scan, int number);

#endif
