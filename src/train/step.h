/* step.h - a training step as one graph: forward, loss, backward, clipping and update.
 *
 * The step graph is the model's graph with the loss and its gradients appended. Parameters become
 * state whose next value is the update; optimiser slots are further state. What the trainer gives
 * at every step are inputs called "train.*".
 *
 * A batch may be cut into shards that run one after the other. Gradients are summed in shard
 * order and applied by the run whose input train.apply is true, so that the result depends on the
 * shards, not on how they are grouped into micro-batches.
 */
#ifndef TAKT_TRAIN_STEP_H
#define TAKT_TRAIN_STEP_H

#include "train/loss.h"
#include "train/optimizer.h"

/* Inputs of a step graph, each only if something reads it. */
#define TAKT_STEP_LABELS "labels"
#define TAKT_STEP_RATE "train.rate"       /* f32 */
#define TAKT_STEP_APPLY "train.apply"     /* bool; with accumulation only */
#define TAKT_STEP_AVERAGE "train.average" /* f32: share of the new weights in their averages */
#define TAKT_STEP_SEED "train.seed"       /* u64: of dropout */
#define TAKT_STEP_STEP "train.step"       /* u64: of dropout */
#define TAKT_STEP_FIRST "train.first"     /* u64: index of the first sample in the whole batch */

/* Name of a scalar of group `group`; 0: of all other parameters. "train.rate", "train.rate.1". */
enum { TAKT_STEP_NAME = 64 };
const char *takt_step_scalar(const char *name, size_t group, char to[static TAKT_STEP_NAME]);

/* Outputs of a step graph. */
#define TAKT_STEP_SUM "train.loss_sum"
#define TAKT_STEP_COUNT "train.count"
#define TAKT_STEP_HITS "train.hits" /* if the loss has a notion of right and wrong */
#define TAKT_STEP_NORM "train.norm" /* of the whole gradient, if it is clipped by norm */
#define TAKT_STEP_FITS                                                                             \
    "train.fits"                      /* 1, or 0 if a gradient is not finite; if requested         \
                                       */
#define TAKT_STEP_SCALE "train.scale" /* the loss scale of this step, if there is one */

/* Prefixes of the slots that training adds; the parameter's name follows. */
#define TAKT_STEP_SLOT "optimizer." /* optimizer.mean/dense_0.weight */
#define TAKT_STEP_GRAD "gradient/"
#define TAKT_STEP_EMA "ema/"
/* The loss scale of f16, and the number of consecutive steps without overflow. */
#define TAKT_STEP_SCALES "loss_scale/"
#define TAKT_STEP_SCALE_SLOT TAKT_STEP_SCALES "value"
#define TAKT_STEP_SCALE_STEPS TAKT_STEP_SCALES "steps"

/* It starts at START, is doubled after GROWTH good steps, and halved whenever a gradient is not
 * finite: that step changes nothing. At LEAST training cannot continue. */
#define TAKT_SCALE_START 65536.0
#define TAKT_SCALE_MOST 16777216.0
#define TAKT_SCALE_LEAST (1.0 / 1024)
enum { TAKT_SCALE_GROWTH = 2000 };

/* Parameters with their own numbers. */
typedef struct takt_step_group {
    bool (*takes)(void *user, const char *name);
    void *user;
    double rate; /* 0: the run's */
    double hyper[TAKT_OPT_HYPERS];
} takt_step_group;

typedef struct takt_step_spec {
    const takt_loss *loss; /* NULL: the model's own output called "loss" */
    double loss_hyper[TAKT_LOSS_HYPERS];
    const takt_tensor *class_weights; /* f32, or NULL */
    const takt_optimizer *optimizer;
    double hyper[TAKT_OPT_HYPERS];
    double clip_norm, clip_value;  /* 0: none */
    double ema;                    /* decay of the averaged weights; 0: none */
    const takt_step_group *groups; /* a parameter belongs to the first that matches */
    size_t group_count;
    bool accumulates;
    bool skips_bad; /* no weight changes if a gradient is not finite */
    bool has_amp;   /* activations and factors in `amp`: f16, with a loss scale, or bf16 */
    takt_dtype amp;
    /* Whether a parameter is trained; NULL: all are. */
    bool (*is_trained)(void *user, const char *name);
    void *user;
    /* Both or neither: fixed learning rate and optimiser scalars instead of inputs; then every run
     * applies its gradients. For group i they are fixed_rate[i + 1] and fixed_scalars[(i + 1) *
     * TAKT_OPT_SCALARS] onwards. */
    const double *fixed_rate, *fixed_scalars;
} takt_step_spec;

/* Decisions made while building, for people; zero at first. */
typedef struct takt_step_notes {
    const char *removed;    /* the op removed from the end of the model, or NULL */
    size_t trained, frozen; /* parameters by count */
    int64_t classes;        /* labels are numbers below this; 0: they are not, or it is unknown */
} takt_step_notes;

/* `*step` is new; the model's graph is unchanged. */
TAKT_MUST_USE takt_status takt_step_build(const takt_graph *model, const takt_step_spec *spec,
                                          takt_step_notes *notes, takt_graph **step);
/* The model with only its loss, for evaluation: outputs loss_sum, count and hits. */
TAKT_MUST_USE takt_status takt_step_build_eval(const takt_graph *model, const takt_step_spec *spec,
                                               takt_graph **eval);

#endif
