/* bytes.h - recurrent weights of bytes: the state is quantised in every iteration. */
#ifndef TAKT_BACKEND_CPU_RNN_BYTES_H
#define TAKT_BACKEND_CPU_RNN_BYTES_H

#include "backend/cpu/rnn/run.h"

/* Kernels, and the sizes of packed blocks: panels, then the sums of their columns. */
void takt_rnn_bytes_choose(takt_planner *p, takt_rnn_facts *f);
/* Bytes of a packed block of that many columns; false if they are too many. */
bool takt_rnn_bytes_block(const takt_rnn_facts *f, size_t columns, size_t *bytes);
/* The most that a product of up to `rows` rows needs for its kernel. */
size_t takt_rnn_bytes_scratch(const takt_rnn_facts *f, size_t rows);
/* Room for scales and zero points, and in every worker's memory for levels of the state. */
TAKT_MUST_USE takt_status takt_rnn_bytes_rooms(takt_planner *p, takt_rnn_facts *f);
void takt_rnn_bytes_pack(const takt_rnn_facts *f, const void *r, void *ordered, void *to);

/* At the start of the step: scales and zero points in the order of packed columns. */
void takt_rnn_bytes_open(const takt_rnn_facts *f, const takt_step *s, const takt_task *t);
/* At the start of a part of an iteration: the whole state in levels, in the worker's memory. */
void takt_rnn_bytes_quantise(const takt_rnn_facts *f, const takt_task *t, const float *state);

/* result[rows, columns] = the state's rows from `row` on @ a block of R. */
typedef struct takt_rnn_bytes_product {
    size_t row, rows, block, columns;
    const char *packed;
    float *result;
} takt_rnn_bytes_product;

void takt_rnn_bytes_multiply(const takt_rnn_facts *f, const takt_task *t,
                             const takt_rnn_bytes_product *p);

#endif
