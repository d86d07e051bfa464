/* divergence.h - how far a model's probabilities are from those of a reference. */
#ifndef TAKT_TOOL_DIVERGENCE_H
#define TAKT_TOOL_DIVERGENCE_H

#include "text.h"

/* ---- files of probabilities, in llama.cpp's format ---- */

/* "_logits_", tokens of a piece, vocabulary, pieces; the tokens; then for each token that counts a
 * scale, the smallest log-probability and 16 bits for each token of the vocabulary. */
typedef struct tool_base {
    FILE *file;
    int32_t context, vocabulary, pieces;
    int32_t *tokens; /* owned; of all pieces */
    uint16_t *row;   /* owned; of one token */
} tool_base;

/* Whether a file begins with its magic bytes. */
bool tool_is_base(const char *path);
/* The exit status; close it in any case. */
int tool_base_open(const takt_tool *t, const char *path, tool_base *b);
/* The same for a file that is written; `tokens` of all pieces. */
int tool_base_create(const takt_tool *t, const char *path, const tool_base *like,
                     const int32_t *tokens, tool_base *b);
/* The next token's log-probabilities. False: the file ends or cannot be written. */
bool tool_base_read(tool_base *b, float *logs);
bool tool_base_write(tool_base *b, const float *logs);
/* False: some output did not reach the file. */
bool tool_base_close(tool_base *b);

/* ---- figures ---- */

typedef struct tool_figure {
    double value, error; /* error: standard error */
} tool_figure;

typedef struct tool_divergence {
    double *each;             /* owned */
    size_t count, room, same; /* same: tokens for which both models rank the same one first */
    double surprise, squares; /* of the reference: -log(probability) of the text's tokens */
} tool_divergence;

/* Log-probabilities from scores. */
void tool_log_shares(const float *scores, size_t count, float *logs);
/* One token: both models' log-probabilities, and the token that follows. False: out of memory. */
bool tool_divergence_add(tool_divergence *d, const float *reference, const float *logs,
                         size_t count, int32_t next);
/* Mean and error of `count` numbers from their sum and the sum of their squares. */
tool_figure tool_mean(double sum, double squares, size_t count);
/* A quantile; its error is half the distance between the ranks one standard deviation away. */
tool_figure tool_divergence_quantile(tool_divergence *d, double part);
tool_figure tool_divergence_mean(const tool_divergence *d);
tool_figure tool_divergence_same(const tool_divergence *d);

#endif
