/* sum.h - the pieces of a recurrent cell's body: gates, sums, activations. */
#ifndef TAKT_BACKEND_CPU_RNN_SUM_H
#define TAKT_BACKEND_CPU_RNN_SUM_H

#include "backend/cpu/rnn/match.h"

typedef struct takt_rnn_matcher {
    const takt_graph *g; /* the body */
    takt_rnn_match m;
    takt_id h, c, x; /* its inputs */
    takt_id bounded; /* the new state of an lstm */
    bool knows_clip, knows_bias;
    takt_id kept[TAKT_RNN_KEEPS]; /* nodes whose values the kernel can keep */
    bool gives_more; /* a cell, but with results other than its states and kept values */
} takt_rnn_matcher;

/* The node, if it computes `op`; else NULL. */
const takt_node *takt_rnn_node(const takt_rnn_matcher *x, takt_id id, const takt_op *op);
/* The input of the body that `id` is, or -1. */
int takt_rnn_input(const takt_rnn_matcher *x, takt_id id);
bool takt_rnn_scalar(const takt_rnn_matcher *x, takt_id id, double *value);
/* max(min(value, hi), lo). */
typedef struct takt_rnn_clip {
    takt_id value;
    double lo, hi;
} takt_rnn_clip;
/* False: `id` is not clipped, and is the value itself. */
bool takt_rnn_is_clip(const takt_rnn_matcher *x, takt_id id, takt_rnn_clip *c);
/* Sets `found` as the one input of its kind; false if another was set before, or if it is not an
 * input. */
bool takt_rnn_settle(int *kept, int found);
/* If no gate is cut out, there is only one. */
bool takt_rnn_settle_gate(takt_rnn_matcher *x, int gate, int found);
/* x, or the part of it that is `gate`; a negative `gate` is determined here. */
bool takt_rnn_is_x(const takt_rnn_matcher *x, takt_id id, int *gate);
/* The input or constant of the body that `id` is, or -1. */
int takt_rnn_weight(const takt_rnn_matcher *x, takt_id id);
/* The product of the quantised state with bytes (match_bytes.c). */
bool takt_rnn_is_bytes_product(takt_rnn_matcher *x, takt_id id);
/* The types of its scales and zero points; inputs from `rest` on are the same in all iterations. */
bool takt_rnn_bytes_fit(const takt_rnn_matcher *x, int rest);
/* left @ r + bias, likewise. */
bool takt_rnn_is_recurrent(takt_rnn_matcher *x, takt_id id, takt_id left, int *gate);
/* The argument of activation number `which`, without the clip; TAKT_NONE: there is none. */
takt_id takt_rnn_inside(takt_rnn_matcher *x, takt_id id, int which);
/* activation(clip(x + (h @ r + bias))). */
bool takt_rnn_is_gate(takt_rnn_matcher *x, takt_id id, int gate);
/* The same, optionally with a peephole term `eye` on `cell`. */
bool takt_rnn_is_peeping_gate(takt_rnn_matcher *x, takt_id id, int gate, int eye, takt_id cell);

#endif
