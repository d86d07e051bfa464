/* train.h - training on the command line. */
#ifndef TAKT_TOOL_TRAIN_H
#define TAKT_TOOL_TRAIN_H

#include "tool.h"

/* A batch of samples in buffers of its own. */
typedef struct tool_batch {
    takt_named_view *view; /* inputs of the model, then labels */
    char (*field)[256];    /* of the data set, for each */
    size_t count;
    size_t room; /* samples */
} tool_batch;

typedef struct tool_training {
    takt_tool *t;
    takt_model *model;
    takt_data *data;
    takt_trainer *trainer;
    tool_batch batch;
    uint64_t samples, held_out; /* to train on, and behind them to evaluate on */
    uint64_t batch_size, steps_per_epoch, epochs;
    uint64_t epoch, position; /* of the next batch */
    uint64_t seed;
    double best; /* validation loss so far */
    uint64_t bad_evaluations;
    FILE *log;
    int generation; /* of the next checkpoint: 0 or 1 */
} tool_training;

/* A number of a flag that is text; false: usage error, printed. */
bool tool_real(const takt_tool *t, tool_flag_id id, double low, double high, double *value);
/* Opens the data set that --data names. NULL: printed, `*code` set. */
takt_data *tool_open_data(takt_tool *t, int *code);

/* Buffers for `room` samples of the model's inputs and of the labels. */
bool tool_batch_init(tool_batch *b, const takt_model *m, const takt_data *d, uint64_t room,
                     int *code, takt_tool *t);
void tool_batch_free(tool_batch *b);
takt_status tool_batch_fill(tool_batch *b, const takt_data *d, const uint64_t *rows, size_t count);

/* The loop over epochs; the exit code. */
int tool_train_loop(tool_training *g);
/* Mean loss and share of right answers over samples [first, first + count). */
takt_status tool_evaluate(tool_training *g, uint64_t first, uint64_t count, double *loss,
                          double *accuracy);

/* Writes the next generation of the checkpoint, if a folder is given. */
takt_status tool_checkpoint_save(tool_training *g);
/* Continues from the newest one that can be read; `*found` is false if there is none. */
takt_status tool_checkpoint_load(tool_training *g, bool *found);

#endif
