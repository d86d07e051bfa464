/**
 * train.h - training: forward, loss, backward and update as one plan.
 *
 *     takt_load_options load = {.training = true};
 *     takt_model_load(ctx, "mlp.takt", &load, &model);
 *     takt_trainer *trainer;
 *     takt_train_options options = {.optimizer = "adam", .rate = 1e-3};
 *     takt_trainer_create(model, &options, &trainer);
 *     int64_t digits[32];
 *     takt_named_view batch[2] = {
 *         {"x", {.dtype = TAKT_F32, .rank = 2, .dims = {32, 784}, .data = pixels}},
 *         {"labels", {.dtype = TAKT_I64, .rank = 1, .dims = {32}, .data = digits}}};
 *     takt_step_result result;
 *     takt_trainer_step(trainer, batch, 2, &result);
 *
 * The bits of a step depend on the model, the batch, the seed and the number of shards: not on
 * threads, instruction sets, or how the shards are grouped. A step allocates nothing once the
 * sizes of its batch have been seen before.
 *
 * A trainer may be used by one thread at a time; takt_trainer_cancel may be called by others.
 */
#ifndef TAKT_TRAIN_H
#define TAKT_TRAIN_H

#include <takt/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_trainer takt_trainer;

/** Parameters with a learning rate, or numbers of the optimizer, of their own. */
typedef struct takt_param_group {
    /** Whether a parameter belongs to the group, by its name. Called while the trainer is made. */
    bool (*takes)(void *user, const char *parameter);
    void *user;
    double rate;         /**< learning rate, which the schedule scales; default: the training's */
    const char *numbers; /**< "weight_decay=0,beta1=0.8"; NULL: those of the optimizer */
} takt_param_group;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_train_options {
    size_t size; /**< sizeof(takt_train_options), or 0 for this header's */
    /** "cross_entropy", "huber:delta=0.5" …; takt_loss_list lists all. Default: the model's output
     *  called loss; cross_entropy if it has none. */
    const char *loss;
    const char *optimizer; /**< "sgd:momentum=0.9", "adamw" …; default "adamw" */
    double rate;           /**< learning rate; default: the optimizer's own */
    const char *schedule;  /**< "constant", "cosine", "step:every=1000,factor=0.1" …; default
                                "constant" */
    uint64_t warmup;       /**< steps in which the rate grows from 0 */
    uint64_t steps;        /**< length of the training, for schedules that need it */
    /** Parts of a batch whose gradients are computed one after the other and summed in order, which
     *  takes less memory for activations. Default 1. */
    int64_t shards;
    double clip_norm;  /**< scale gradients so that their common norm is at most this; 0: no */
    double clip_value; /**< clip every element of a gradient to this; 0: no */
    /** Decay of an exponential moving average of the weights, at most (1 + n) / (10 + n) after n
     *  steps; 0: none. */
    double ema;
    /** Whether a parameter is trained, by its name; NULL: all are. Called while the trainer is
     *  made. */
    bool (*trains)(void *user, const char *parameter);
    void *trains_user;
    const takt_tensor_view *class_weights; /**< f32, one per class; NULL: all 1 */
    uint64_t seed;                         /**< of dropout; default 0 */
    const takt_plan_options *plan;  /**< threads, memory limit, …; sizes of other dimensions than
                                         those of the inputs */
    const takt_param_group *groups; /**< the first that accepts a parameter has it */
    size_t group_count;
    /** Mixed precision: "bf16" or "f16"; NULL or "f32": none. Activations, their gradients and the
     *  factors of products are in 16 bits; weights, optimizer state, sums, norms and losses stay
     * f32. With f16 the loss is scaled: a step whose gradients overflow changes no weight and
     * halves the scale. */
    const char *amp;
    bool async_save; /**< takt_trainer_plan counts the second copy of the state that
                          takt_trainer_save_begin makes */
    /** A step whose loss or gradient is not finite changes no weight and is not an error: its
     * result has `skipped`. Gradients then stay until all of them are known. */
    bool skip_not_finite;
    /** The first step moves the weights from the model to the trainer: the model cannot be used
     * until takt_trainer_export returns the trained ones. */
    bool take_weights;
} takt_train_options;

/** The result of a step. */
typedef struct takt_step_result {
    uint64_t step; /**< steps done so far, this one included */
    double loss;   /**< mean over the batch, before the update; 0 if `count` is */
    double count;  /**< samples, or elements, that the mean is over, or the sum of their weights; 0
                    if every label is ignored or its class has weight 0 */
    double hits;   /**< correct predictions among them; -1 if the loss does not define any */
    double rate;   /**< learning rate of this step */
    double norm;   /**< of the gradient before clipping; -1 unless clip_norm is set */
    double scale;  /**< of the loss, with amp "f16"; else 1 */
    bool skipped;  /**< the weights are unchanged: with amp "f16" gradients overflowed, with
                      skip_not_finite loss or gradients are NaN or infinite, or `count` is 0 */
} takt_step_result;

/** Makes a trainer with the model's weights. The model must have been loaded with `training`, and
 *  is borrowed until the trainer is destroyed. Nothing is planned yet: that needs a batch.
 *
 *  @return TAKT_ERR_UNSUPPORTED if there is nothing to minimise or to train, or an op has no
 *          gradient; TAKT_ERR_NOT_FOUND for an unknown name; TAKT_ERR_ARGUMENT; TAKT_ERR_MEMORY */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_create(const takt_model *model,
                                                       const takt_train_options *options,
                                                       takt_trainer **trainer);
/** Accepts NULL. */
TAKT_API void takt_trainer_destroy(takt_trainer *trainer);

/** One step on one batch: the model's inputs and, unless the model returns its own loss, "labels".
 *  Dimensions take the sizes of these views; a batch of new sizes is planned first. Labels may be
 *  whole numbers where the loss takes floats, and may have or lack a last axis of one element.
 *  Class numbers on the host below 0, or that the model has no output for, are TAKT_ERR_RANGE; the
 *  message names the sample. "cross_entropy:ignore=-1" leaves out those with the label -1.
 *
 *  If the loss is not finite the weights stay as they are and TAKT_ERR_RANGE is returned; the
 *  message names the step and where the first such number comes from. After any failure the state
 *  is that of before the step. */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_step(takt_trainer *trainer,
                                                     const takt_named_view *batch, size_t count,
                                                     takt_step_result *result);
/** Where the time of a step went. */
typedef struct takt_step_times {
    double forward_ns;   /**< the model and its loss */
    double gradient_ns;  /**< gradients and clipping */
    double optimizer_ns; /**< the update of weights and optimizer state */
} takt_step_times;

/** takt_trainer_step with a reading of the clock around every step of the plan. A step that
 * computes for two phases counts for the later one.
 *
 *  @return what takt_trainer_step returns */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_step_timed(takt_trainer *trainer,
                                                           const takt_named_view *batch,
                                                           size_t count, takt_step_result *result,
                                                           takt_step_times *times);
/** The loss on one batch with the present weights, computed as in inference; changes nothing.
 *
 *  @return what takt_trainer_step returns for such a batch; TAKT_ERR_CANCELLED */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_eval(takt_trainer *trainer,
                                                     const takt_named_view *batch, size_t count,
                                                     takt_step_result *result);
/** From any thread, or a signal handler: the takt_trainer_step or takt_trainer_eval in progress
 * ends with TAKT_ERR_CANCELLED, at the points where a session checks its deadline, and the state is
 * that of before. If none is in progress, the next one does. No other call is affected: a cancel
 * that comes too late for its call has no effect. Two parts of a step are finished first: planning,
 *  which a batch of new sizes needs, and what comes after the first update (`takt plan --train`
 *  says how long that takes). */
TAKT_API void takt_trainer_cancel(takt_trainer *trainer);
/** Passes a validation loss to the schedule "plateau"; other schedules ignore it. */
TAKT_API void takt_trainer_observe(takt_trainer *trainer, double loss);

/** The memory of a step on this batch, without running it: data may be NULL in its views. */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_plan(takt_trainer *trainer,
                                                     const takt_named_view *batch, size_t count,
                                                     takt_plan_info *info);
/** Seconds that a step on the batch of the last takt_trainer_plan is expected to take, by a cost
 *  model, accurate to some tens of per cent. 0 before. */
TAKT_API double takt_trainer_estimate(const takt_trainer *trainer);
/** The training step as a model of its own, to be planned, profiled or explained like any other:
 *  its inputs are those of `model` and "labels", its state is weights and optimizer slots. The
 *  learning rate is that after the warm-up. Every run is a step.
 *
 *  @return what takt_trainer_create returns; `*step` is then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_train_model(const takt_model *model,
                                                    const takt_train_options *options,
                                                    takt_model **step);
/** Steps done so far. */
TAKT_API uint64_t takt_trainer_steps(const takt_trainer *trainer);
/** How many numbers are trained, and how many parameters are frozen. */
TAKT_API void takt_trainer_count(const takt_trainer *trainer, uint64_t *trained,
                                 size_t *frozen_parameters);
/** What was changed at the model's end, as a sentence such as "softmax was taken off: cross_entropy
 *  contains it"; "" if nothing was. Valid as long as the trainer. */
TAKT_API const char *takt_trainer_note(const takt_trainer *trainer);

/** Copies the trained weights and statistics into `model`, the one the trainer was made from;
 *  `averaged`: the moving averages instead, if `ema` is set. Plans made from it before keep the
 *  weights they have.
 *
 *  @return TAKT_ERR_MEMORY: each weight is then the old one or the new one */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_export(const takt_trainer *trainer,
                                                       takt_model *model, bool averaged);

/** Writes everything that the next step depends on, and `note`, to one file: weights, optimizer
 *  state, step, schedule. If this fails, an existing file at `path` is unchanged. `note` may be
 *  NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_save(const takt_trainer *trainer, const char *path,
                                                     const char *note);
/** The same in the background: copies the state, starts a thread that writes the copy, and returns.
 *  Waits first for a save that is under way, and returns its failure. */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_save_begin(takt_trainer *trainer, const char *path,
                                                           const char *note);
/** Waits for a save in the background to finish, and returns its status; TAKT_OK if there is none.
 *
 *  @return TAKT_ERR_IO if it failed: an existing file at the path is unchanged */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_save_end(takt_trainer *trainer);
/** Continues from such a file: TAKT_ERR_FORMAT if it is damaged or belongs to another model or
 *  other options; the trainer is then unchanged. `note` receives the text that was saved with it,
 *  valid until the next load or the trainer's end; may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_trainer_load(takt_trainer *trainer, const char *path,
                                                     const char **note);

/** Optimizers, losses, schedules and metrics with their numbers: `takt train --list`. */
TAKT_API TAKT_MUST_USE takt_status takt_train_list(takt_ctx *ctx, takt_format format,
                                                   takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
