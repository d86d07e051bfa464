/* small_training.h - a small model trained on synthetic samples, for tests of checkpoints. */
#ifndef TAKT_TESTS_UTIL_SMALL_TRAINING_H
#define TAKT_TESTS_UTIL_SMALL_TRAINING_H

#include <takt/takt.h>

typedef struct small_training {
    takt_ctx *ctx;
    takt_model *model;
    takt_trainer *trainer;
} small_training;

/* Adam, one thread; `files` may be NULL for the system's. False, and reported, if it fails. */
bool small_training_begin(small_training *t, const takt_files *files);
void small_training_end(small_training *t);
/* One step on a batch that depends on the number of the step. */
void small_training_step(small_training *t);
/* The bytes of a file, for the caller to free; `*length` is 0 if there is none. */
char *small_training_read(const char *path, size_t *length);

#endif
