/* train.h - training on the command line. */
#ifndef TAKT_TOOL_TRAIN_H
#define TAKT_TOOL_TRAIN_H

#include <regex.h>

#include "tool.h"

/* A batch of samples in its own buffers. */
typedef struct tool_batch {
    takt_named_view *view; /* inputs of the model, then labels */
    char (*field)[256];    /* of the data set, for each */
    size_t count;
    size_t room; /* samples */
    size_t soft; /* 1 + the view that has class numbers as distributions; 0: none */
} tool_batch;

/* Losses for the curve: all so far or, if there is not enough room, every second, fourth, ... */
typedef struct tool_points {
    uint64_t *step;
    double *loss;
    size_t count;
    uint64_t seen, every;
} tool_points;

typedef struct tool_loader tool_loader;

typedef struct tool_training {
    takt_tool *t;
    takt_model *model;
    takt_data *data;
    takt_trainer *trainer;
    tool_batch batch;
    uint64_t samples, held_out; /* to train on, followed by those to evaluate on */
    uint64_t drawn; /* all, if those held out are drawn from them; 0: they are the last */
    uint64_t batch_size, steps_per_epoch, epochs;
    uint64_t steps;           /* of the whole training */
    uint64_t epoch, position; /* of the next batch */
    uint64_t seed;
    bool in_order;       /* samples are not shuffled */
    const char *augment; /* augmentations, or NULL */
    double alpha;        /* of mixup; 0: samples are not mixed */
    tool_loader *loader;
    int lock;    /* of the checkpoint folder: a descriptor, or -1 */
    double best; /* validation loss so far */
    uint64_t bad_evaluations;
    FILE *log;
    tool_points losses, checks;   /* of steps and of evaluations */
    int generation;               /* of the next checkpoint: 0 or 1 */
    uint64_t save_steps, save_ns; /* between two checkpoints; 0: only after every epoch */
    uint64_t saved_ns;            /* when the last one was started */
    uint64_t begun_step;          /* steps at that time, while it is being written */
    uint64_t saved_step;          /* of the last one written, if there is one */
    bool is_saving, has_saved;
    bool fits_numbers;      /* labels are not whole, and no loss was chosen */
    bool has_shares;        /* labels are distributions over the classes */
    bool has_classes_first; /* axis 1 of the output has the classes, and labels lack it */
    const char *bad_field;  /* of the sample that made a loss NaN or infinite, or NULL */
    uint64_t bad_sample;
    bool has_bad_check; /* a sample of the evaluation is not finite, or no label counts; told */
    bool is_cut;        /* interrupted, or every step of an epoch was skipped */
    char *settings;     /* lines of a checkpoint's note, or NULL */
} tool_training;

/* Settings of a training from the flags; it points into itself, so it must not be moved. */
enum { TOOL_GROUPS = 8 };

/* One --group: a regular expression and numbers. */
typedef struct tool_group {
    regex_t names;
    const char *text; /* of the flag */
    bool is_used;     /* a parameter matched */
    char numbers[128];
} tool_group;

typedef struct tool_train_flags {
    takt_train_options options;
    char optimizer[512], loss[256];
    float *class_weights;     /* or NULL */
    takt_tensor_view weights; /* a view of them */
    regex_t freeze;
    bool freezes, has_frozen; /* --freeze is given; a parameter matched */
    tool_group groups[TOOL_GROUPS];
    takt_param_group parts[TOOL_GROUPS];
    size_t group_count;
} tool_train_flags;

/* False: usage error, printed; nothing to free. */
bool tool_train_flags_init(const takt_tool *t, tool_train_flags *f);
/* Reads --class-weights into the options. False: printed. */
bool tool_class_weights(const tool_training *g, tool_train_flags *f);
/* Whether --freeze and every --group matched a parameter of the trainer that was made from them.
 * False: usage error, printed. */
bool tool_train_flags_used(const takt_tool *t, const tool_train_flags *f);
void tool_train_flags_free(tool_train_flags *f);
/* The training step of `model`, which is destroyed. If NULL, an error was printed and `*code` is
 * set. */
takt_model *tool_training_model(takt_tool *t, takt_model *model, int *code);
/* `takt benchmark run --type training`. */
int tool_bench_training(takt_tool *t);

/* A number of a flag that is text; false: usage error, printed. */
bool tool_real(const takt_tool *t, tool_flag_id id, double low, double high, double *value);
/* The file of --cache disk. */
typedef struct tool_data_place {
    char path[2560], stamp[4096 + 256];
} tool_data_place;

/* Stores it in the options, which borrow `place`. False: usage error, printed. */
bool tool_data_cache(const takt_tool *t, const char *data, tool_data_place *place,
                     takt_data_options *options);
enum { TOOL_DATA_PATH = 1024 };

/* The path of the data set `name`: itself if it is a path, or that of a known name (mnist). False:
 * a known name that is not installed, or a similar one; printed. */
bool tool_data_find(const takt_tool *t, const char *name, char path[static TOOL_DATA_PATH]);
/* `takt data --list`: the known names, and where they are. */
int tool_data_list(const takt_tool *t);
/* After it could not be opened: reports which files are bad, if it has one per sample. */
void tool_data_bad(takt_tool *t, const char *path);
/* Opens the data set that --data names; pictures get the form that `m`, or NULL, takes. If NULL, an
 * error was printed and `*code` is set. */
takt_data *tool_open_data(takt_tool *t, const takt_model *m, int *code);

/* Samples of a batch if the model has a number for that; else 0. */
uint64_t tool_fixed_batch(const takt_model *m);
/* Buffers for `room` samples of the model's inputs and of the labels. */
bool tool_batch_init(tool_batch *b, const takt_model *m, const takt_data *d, uint64_t room,
                     int *code, takt_tool *t);
/* The same with random numbers for every input of a training step, `step`; integers are below
 * `bound`. */
bool tool_batch_random(tool_batch *b, const takt_model *step, uint64_t room, int64_t bound,
                       takt_ctx *ctx);
/* Labels that are class numbers become distributions over the classes of the model's output. False:
 * out of memory. */
bool tool_batch_soften(tool_batch *b, const takt_model *m, takt_ctx *ctx);
void tool_batch_free(tool_batch *b, takt_ctx *ctx);
takt_status tool_batch_fill(tool_batch *b, const takt_data *d, const uint64_t *rows, size_t count);

/* Buffers of the same sizes. */
bool tool_batch_copy(tool_batch *b, const tool_batch *like, takt_ctx *ctx);

/* Class numbers that fit a model: below `count`, or such that do not count. */
typedef struct tool_classes {
    int64_t count;  /* set by tool_labels_fit */
    bool is_scored; /* by `takt eval`: labels below 0 do not count */
    bool ignores;
    int64_t ignored; /* if `ignores` */
} tool_classes;

/* Whether only axis 1 of the output can be that of the classes, as in [batch, classes, rows,
 * columns]. */
bool tool_classes_first(const takt_data *d, const takt_desc *out);
/* Whether all labels are whole numbers. */
bool tool_labels_are_whole(const takt_data *d);
/* Whether labels are classes of the output; false: printed, with file and sample. */
bool tool_labels_fit(const takt_tool *t, const takt_data *d, const takt_desc *out,
                     tool_classes classes);
/* Whether a loss is appended to the model: it has none, and does not take the labels itself. */
bool tool_adds_loss(const tool_training *g);
/* Whether labels fit loss and model; otherwise a step would fail. False: printed. */
bool tool_training_labels_fit(tool_training *g);
bool tool_training_has_labels(const tool_training *g);
/* The first row of [from, count) with a number that is not finite, of an f32 view. */
bool tool_view_bad(const takt_tensor_view *v, size_t from, size_t count, size_t *row);
/* The first of `count` samples with a number that is not finite, and the field that has it. */
bool tool_batch_bad(const tool_batch *b, size_t count, size_t *row, const char **field);

/* Whether rate, average and limits of gradients are not numbers with which they do nothing. False:
 * usage error, printed. */
bool tool_numbers_sound(const takt_tool *t);
/* Whether each flag does something in this combination, before the model is opened and when the
 * lengths are known. False: usage error, printed. */
bool tool_training_flags(const takt_tool *t);
bool tool_training_sound(const tool_training *g);

/* Prepares batches of `g->data` ahead, from g->epoch and g->position to the end of the training,
 * with this many threads. NULL: out of memory. */
tool_loader *tool_loader_create(const tool_training *g, uint64_t workers);
void tool_loader_destroy(tool_loader *l);
/* The next batch, owned by the caller until `done`, and its number of samples. */
takt_status tool_loader_next(tool_loader *l, const tool_batch **batch, size_t *count);
/* The sample of the data set that is number `i` of the training, or of those held out after it. */
uint64_t tool_training_sample(const tool_training *g, uint64_t i);
/* The sample of the data set in this row of the batch. */
uint64_t tool_loader_sample(const tool_loader *l, const tool_batch *batch, size_t row);
void tool_loader_done(tool_loader *l, const tool_batch *batch);

/* Reads --augment; mixup turns labels into distributions. If false, an error was printed. */
bool tool_augment_begin(tool_training *g, int *code);
/* The loss for such labels. False: usage error, printed. */
bool tool_mixup_loss(const tool_training *g, tool_train_flags *f);
/* Prepares the model for quantisation-aware training if --qat is given. If false, an error was
 * printed. */
bool tool_qat_begin(tool_training *g, int *code);
/* Writes the integer model with the weights trained so far. */
int tool_qat_save(tool_training *g);

struct tool_signals;
/* The first Ctrl-C from now on ends the loop. Restore the signals after the last file is written:
 * the same request may arrive twice. */
void tool_train_catch(struct tool_signals *before);
/* The loop over epochs; the exit code. */
int tool_train_loop(tool_training *g);
/* Whether all of its steps were made. */
bool tool_is_trained(const tool_training *g);
/* Mean loss and accuracy over samples [first, first + count). */
takt_status tool_evaluate(tool_training *g, uint64_t first, uint64_t count, double *loss,
                          double *accuracy);

/* One line of the log for a step or, with `r` NULL, for an evaluation; and a point of the curve. */
void tool_log_step(tool_training *g, const takt_step_result *r, double seconds);
void tool_log_check(tool_training *g, double loss, double accuracy);
/* Opens the log of --log or of the checkpoint's folder. When a training continues, log lines of
 * steps after `steps` are dropped. If false, an error was printed. */
bool tool_log_open(tool_training *g, uint64_t steps, int *code);
/* Closes it, and draws the curve. */
int tool_log_close(tool_training *g, int code);

/* Locks the checkpoint folder for this training; false: another training holds it; printed. */
bool tool_checkpoint_lock(tool_training *g, int *code);
/* A training that starts at the beginning moves checkpoints and log of an earlier one into a folder
 * of their own: resuming must not mix the two. If false, an error was printed. */
bool tool_checkpoint_retire(tool_training *g, int *code);
/* Reads --checkpoint-every; false: usage error, printed. */
bool tool_checkpoint_init(tool_training *g);
/* The note of a training's checkpoint: digests of data and model, and flags. */
takt_status tool_settings_init(tool_training *g);
/* Whether the line "data" or "model" of a checkpoint's note is that of this training. */
bool tool_settings_fit(const tool_training *g, const char *note, const char *key);
/* Reports which flags differ from those of the checkpoint. */
void tool_settings_compare(const tool_training *g, const char *note);
/* Writes the next generation of the checkpoint, if a folder is given: in the background, so that a
 * failure is returned by the next save or by `tool_checkpoint_wait`. */
takt_status tool_checkpoint_save(tool_training *g);
/* The same if this many steps or this much time has passed. */
takt_status tool_checkpoint_due(tool_training *g);
/* Waits until the current one is written. */
takt_status tool_checkpoint_wait(tool_training *g);
/* Continues from the newest one that can be read; `*found` is false if there is none. The exit
 * code. */
int tool_checkpoint_load(tool_training *g, bool *found);

#endif
