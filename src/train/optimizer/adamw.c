/* adamw.c - Adam with weight decay decoupled from the gradient (Loshchilov and Hutter, 2019). */
#include "train/optimizer.h"

enum { BETA1, BETA2, EPSILON, DECAY };

static void at_step(const double *hyper, double rate, uint64_t step, double *scalar)
{
    takt_adam_at_step(hyper[BETA1], hyper[BETA2], rate, step, scalar);
}

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    static const char *const names[] = {"mean", "square", NULL};
    (void)hyper;
    (void)type;
    return takt_slot_alike(names, index);
}

static takt_id update(takt_update *u)
{
    const double *h = u->hyper;
    const takt_id kept = takt_weight_decayed(u, h[DECAY]);
    const takt_id way = takt_adam_direction(u, h[BETA1], h[BETA2], h[EPSILON]);
    return takt_adam_step(u, kept, way);
}

const takt_optimizer takt_optimizer_adamw = {
    .name = "adamw",
    .summary = "Adam with weight decay that does not pass through the moments",
    .rate = 1e-3,
    .hyper = {[BETA1] = {"beta1", 0.9, 0, TAKT_BELOW_ONE, "decay of the mean"},
              [BETA2] = {"beta2", 0.999, 0, TAKT_BELOW_ONE, "decay of the mean square"},
              [EPSILON] = {"epsilon", 1e-8, 0, 1, "added to the root of the mean square"},
              [DECAY] = {"weight_decay", 0.01, 0, 1e3,
                         "share of the weight lost per unit of rate"}},
    .scalars = {"step_size", "correction2"},
    .at_step = at_step,
    .slot = slot,
    .update = update,
};
