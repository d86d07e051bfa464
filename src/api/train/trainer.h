/* trainer.h - what a trainer holds. */
#ifndef TAKT_API_TRAIN_TRAINER_H
#define TAKT_API_TRAIN_TRAINER_H

#include <takt/train.h>

#include "api/model.h"
#include "plan/execute.h"
#include "train/schedule.h"
#include "train/step.h"

/* A model with the session that runs it, for the sizes of the last batch. */
typedef struct takt_train_run {
    takt_model *model;
    takt_session *session; /* NULL: none so far */
    takt_text sizes;       /* of the session: "batch=64" */
    takt_text asked;       /* the same of a batch; kept, so that a step allocates nothing */
} takt_train_run;

/* A checkpoint that a thread is writing. */
typedef struct takt_saving {
    takt_ctx *ctx;
    void *thread;
    char *path;
    void *bytes; /* the file; NULL: none is being written */
    size_t length;
    int error; /* of the system; set by the thread */
} takt_saving;

struct takt_trainer {
    takt_ctx *ctx;
    const takt_model *model; /* borrowed */
    takt_arena arena;
    takt_step_spec spec;
    takt_step_notes notes;
    takt_tensor class_weights;
    takt_schedule schedule;
    double rate;
    int64_t shards;
    uint64_t seed, steps;
    uint64_t skipped; /* of the steps: gradients overflowed, no weight changed */
    takt_plan_options plan;
    takt_train_run step, eval;
    uint64_t eval_step; /* steps + 1 when weights were last given to `eval`; 0: never */
    const char *note;
    _Atomic uint64_t calls;  /* 2 * steps and evaluations begun, plus one during one of them */
    _Atomic uint64_t cancel; /* the call that is to end, counted from 1; 0: none */
    void *kept;              /* the model's states before a step of several shards; or NULL */
    size_t kept_bytes;
    bool has_kept;           /* `kept` belongs to the step under way */
    const takt_watch *watch; /* around the steps of the plan under way; or NULL */
    unsigned char *phase;    /* of every step of `phase_plan`; NULL: none was timed so far */
    size_t phase_count;
    const takt_plan *phase_plan; /* only compared: in a range of sizes, the session may change it */
    char *loaded_note;           /* of the last checkpoint, in the arena; or NULL */
    takt_saving saving;
    double estimate; /* seconds of a step, by the last takt_trainer_plan */
    bool async_save; /* the plan counts a second copy of the state */
    bool takes_weights;
};

/* Rows [first, first + rows) of a batch; rows 0: all of it. */
typedef struct takt_rows {
    int64_t first, rows;
} takt_rows;

/* Parameter groups from the options. */
TAKT_MUST_USE takt_status takt_trainer_groups(takt_trainer *t, const takt_train_options *o);
/* The field of a batch for an input, by name or position; or NULL. */
const takt_named_view *takt_batch_find(const takt_named_view *batch, size_t count, const char *name,
                                       size_t place);
/* Whether the first axis of this input counts samples. */
bool takt_batch_is_cut(const takt_trainer *t, const takt_desc *desc);
/* Samples that the model takes at a time, if it has a number for that; else 0. */
int64_t takt_batch_fixed(const takt_trainer *t);
/* How many samples a batch has, by the first of the model's inputs that has a batch axis. */
TAKT_MUST_USE takt_status takt_batch_samples(const takt_trainer *t, const takt_named_view *batch,
                                             size_t count, int64_t *samples);
/* Gives `run` a session for these rows of the batch and binds them. */
TAKT_MUST_USE takt_status takt_train_bind(takt_trainer *t, takt_train_run *run,
                                          const takt_named_view *batch, size_t count,
                                          takt_rows rows);
/* Labels as the session's input takes them, if that is possible without a loss: `v` is changed, and
 * numbers are converted to the session's own memory. On failure the session has the error. */
TAKT_MUST_USE takt_status takt_train_labels(takt_session *s, size_t input, takt_tensor_view *v);
/* Refuses labels of samples from `first` on that are not classes of the model. Those on a device
 * are not looked at. */
TAKT_MUST_USE takt_status takt_train_check_labels(const takt_trainer *t, const takt_tensor_view *v,
                                                  int64_t first);
/* "batch=64,seq=16" for these rows of the batch. */
TAKT_MUST_USE takt_status takt_batch_sizes(const takt_trainer *t, const takt_model *model,
                                           const takt_named_view *batch, size_t count,
                                           takt_rows rows, takt_text *sizes);
/* With `takes_weights`: what the step's session has copied as its state is given back, here and in
 * the model that the trainer was made from. */
void takt_train_let_go(takt_trainer *t);
/* The session's own memory of an input or output; NULL if there is none of that name. */
void *takt_train_input(takt_train_run *run, const char *name);
const void *takt_train_output(takt_train_run *run, const char *name);
/* The present value of a slot of the step graph, to be released; storage NULL if it has none. */
TAKT_MUST_USE takt_status takt_train_slot(const takt_trainer *t, const char *name,
                                          takt_tensor *value);

/* Records that the loss of the current step is not finite, and where the first such number is: in
 * these rows of the batch, in a weight, or in the result of a step, which is repeated to find
 * it. */
TAKT_MUST_USE takt_status takt_train_not_finite(takt_trainer *t, const takt_named_view *batch,
                                                size_t count, takt_rows rows, double loss);

/* The file that takt_trainer_save would write, to be given back with takt_mem_put. */
TAKT_MUST_USE takt_status takt_checkpoint_bytes(const takt_trainer *t, const char *note,
                                                void **bytes, size_t *length);
/* Waits for a save that is under way, and ignores its outcome. */
void takt_saving_stop(takt_trainer *t);
/* Bytes of all slots, each at the next multiple of 64. */
uint64_t takt_trainer_state_bytes(const takt_trainer *t);

/* Bytes of the model's states, such as batch statistics, that a step of several shards keeps to
 * restore them if it fails. */
uint64_t takt_trainer_kept_bytes(const takt_trainer *t);

/* Before a watched run: the phases of the plan's steps, found once for each plan. */
TAKT_MUST_USE takt_status takt_timed_phases(takt_trainer *t);
/* The plan changes. */
void takt_timed_forget(takt_trainer *t);

#endif
