/* rnn_text.h - models around one recurrent cell, written in every way that is the same cell. */
#ifndef TAKT_TESTS_UTIL_RNN_TEXT_H
#define TAKT_TESTS_UTIL_RNN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RNN_PLAIN, RNN_LSTM, RNN_GRU, RNN_RESET };

typedef struct rnn_text_form {
    int kind;
    const char *dtype, *acts[5]; /* as in the kernel's contract */
    int length, batch, units;
    int order[4]; /* the part of x for each gate */
    bool bias, transposed, clip, live, peephole, couples, clips_cell;
    bool slices_first, param, batch_first, reverse, swaps;
    bool keeps; /* also returns initial values of steps and the values of gates */
} rnn_text_form;

typedef struct rnn_text {
    char text[6000];
    size_t length;
} rnn_text;

/* A form of small sizes; `i` says which cell and type. `state` is that of a generator. */
rnn_text_form rnn_text_random(int i, uint32_t *state);
int rnn_text_gates(const rnn_text_form *f);
/* `gives_more`: the body has one more result, which makes it no cell. */
void rnn_text_write(rnn_text *w, const rnn_text_form *f, bool gives_more);

#endif
