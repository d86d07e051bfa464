/* optimizer.h - how a parameter follows its gradient.
 *
 * An optimiser is a record in its own file, train/optimizer/<name>.c. It appends the update of one
 * parameter to the graph of a training step: ordinary nodes, so that passes, planner and kernels
 * treat them like any others. Values that change from step to step (learning rate, bias
 * corrections) are scalar inputs that the trainer computes in double: a step is never planned twice
 * because of them. */
#ifndef TAKT_TRAIN_OPTIMIZER_H
#define TAKT_TRAIN_OPTIMIZER_H

#include "op/ops.h"
#include "train/hyper.h"

enum { TAKT_OPT_HYPERS = 8, TAKT_OPT_SLOTS = 4, TAKT_OPT_SCALARS = 4 };

/* The update of one parameter while it is built. Everything is in the dtype of the parameter. */
typedef struct takt_update {
    takt_graph *g;
    const double *hyper;
    takt_id rate;                     /* scalar input: the learning rate of this step */
    takt_id scalar[TAKT_OPT_SCALARS]; /* scalar inputs of the record, in its order */
    takt_id weight, grad;
    takt_id slot[TAKT_OPT_SLOTS]; /* state of the parameter before the step */
    takt_id next[TAKT_OPT_SLOTS]; /* and after it, set by `update` */
} takt_update;

typedef struct takt_optimizer {
    const char *name, *summary;
    double rate; /* the default learning rate */
    takt_hyper hyper[TAKT_OPT_HYPERS];
    const char *scalars[TAKT_OPT_SCALARS];
    /* Why these numbers do not go together, and what to write instead; NULL: they do. Or NULL. */
    const char *(*refused)(const double *hyper, const char **hint);
    /* Values of `scalars` at a step, counted from 1. */
    void (*at_step)(const double *hyper, double rate, uint64_t step, double *scalar);
    /* Name and type of slot `index` of a parameter; NULL past the last. `type` is first the
     * parameter's. */
    const char *(*slot)(const double *hyper, size_t index, takt_type *type);
    /* Appends the update and returns the parameter's next value. */
    takt_id (*update)(takt_update *u);
} takt_optimizer;

extern const takt_optimizer *const takt_optimizers[]; /* ends with NULL */

/* "adamw" or "sgd:momentum=0.9,nesterov=1": the record, and a value for each of its numbers. */
TAKT_MUST_USE takt_status takt_optimizer_parse(takt_ctx *ctx, const char *text,
                                               const takt_optimizer **optimizer,
                                               double hyper[static TAKT_OPT_HYPERS]);

/* Fails with what the record says against these numbers of it. */
TAKT_MUST_USE takt_status takt_optimizer_check(takt_ctx *ctx, const takt_optimizer *optimizer,
                                               const double *hyper);

/* ---- formulas that several optimisers share ---- */

/* a + (b - a) * t, with a number or a scalar node for t. */
takt_id takt_lerp(takt_graph *g, takt_id a, takt_id b, double t);
/* old * keep + new * (1 - keep). */
takt_id takt_decay_to(takt_graph *g, takt_id old, takt_id new_value, double keep);
/* w * (1 - rate * decay), if decay is not 0. */
takt_id takt_weight_decayed(takt_update *u, double decay);
/* grad + w * decay, if decay is not 0: L2 regularisation. */
takt_id takt_grad_decayed(takt_update *u, double decay);
/* The Euclidean norm of all elements, a scalar. */
takt_id takt_norm_of(takt_graph *g, takt_id x);
/* Slot names for moments that have the parameter's shape: `names` ends with NULL. */
const char *takt_slot_alike(const char *const *names, size_t index);

/* Adam's two moments as slots 0 and 1, and the first divided by the root of the second, corrected
 * for its beginning at 0 (scalar 1: sqrt(1 - beta2^step)). The first moment's correction is in the
 * step size (scalar 0: rate / (1 - beta1^step)). */
takt_id takt_adam_direction(takt_update *u, double beta1, double beta2, double epsilon);
void takt_adam_at_step(double beta1, double beta2, double rate, uint64_t step, double *scalar);
/* weight - direction * scalar 0. */
takt_id takt_adam_step(takt_update *u, takt_id weight, takt_id direction);

#endif
