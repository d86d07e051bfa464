/* importance.h - importance matrices: the weight of each column of a model's matrices.
 *
 * A GGUF file as llama.cpp writes it: for the matrix NAME a tensor NAME.in_sum2, sums of squares of
 * the inputs by column, and NAME.counts, the number of rows summed. Matrices of experts have one
 * row of each per expert.
 */
#ifndef TAKT_IO_GGUF_IMPORTANCE_H
#define TAKT_IO_GGUF_IMPORTANCE_H

#include "io/gguf/model.h"

typedef struct takt_importance {
    takt_ctx *ctx;
    takt_arena arena;
    takt_skim skim;
    takt_gguf g;
    takt_source source;
    takt_gguf_model m;
} takt_importance;

/* On failure nothing is open. */
TAKT_MUST_USE takt_status takt_importance_open(takt_importance *im, takt_ctx *ctx,
                                               const char *path);
void takt_importance_close(takt_importance *im);
/* The columns of a matrix: `*values` has a row for each of `*matrices` experts, or is NULL if the
 * file lacks the matrix. Valid until the file is closed. */
TAKT_MUST_USE takt_status takt_importance_of(takt_importance *im, const takt_gguf_tensor *t,
                                             float **values, size_t *matrices);

#endif
