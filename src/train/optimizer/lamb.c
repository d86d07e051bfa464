/* lamb.c - Adam's direction, scaled per parameter by the norm of the weight (You et al., 2020). */
#include <math.h>

#include "op/util/formula.h"
#include "train/optimizer.h"

enum { BETA1, BETA2, EPSILON, DECAY };

static void at_step(const double *hyper, double rate, uint64_t step, double *scalar)
{
    takt_adam_at_step(hyper[BETA1], hyper[BETA2], rate, step, scalar);
    scalar[2] = 1 / (1 - pow(hyper[BETA1], (double)step));
}

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    static const char *const names[] = {"mean", "square", NULL};
    (void)hyper;
    (void)type;
    return takt_slot_alike(names, index);
}

/* The trust ratio |w| / |way|, or 1 if one of them is 0. */
static takt_id trust(takt_graph *g, takt_id weight, takt_id way)
{
    const takt_id w = takt_norm_of(g, weight), d = takt_norm_of(g, way);
    const takt_id both =
        takt_binary(g, &takt_op_and, takt_is_above(g, w, 0), takt_is_above(g, d, 0));
    const takt_id one = takt_scalar_like(g, w, 1);
    return takt_select(g, both, takt_div(g, w, takt_select(g, both, d, one)), one);
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const double *h = u->hyper;
    const takt_id unscaled = takt_adam_direction(u, h[BETA1], h[BETA2], h[EPSILON]);
    takt_id way = takt_mul(g, unscaled, u->scalar[2]);
    if (h[DECAY] != 0)
        way = takt_add(g, way, takt_mul_scalar(g, u->weight, h[DECAY]));
    const takt_id size = takt_mul(g, u->rate, trust(g, u->weight, way));
    return takt_sub(g, u->weight, takt_mul(g, way, size));
}

const takt_optimizer takt_optimizer_lamb = {
    .name = "lamb",
    .summary = "Adam's direction, scaled by the norm of each parameter",
    .rate = 1e-3,
    .hyper = {[BETA1] = {"beta1", 0.9, 0, TAKT_BELOW_ONE, "decay of the mean"},
              [BETA2] = {"beta2", 0.999, 0, TAKT_BELOW_ONE, "decay of the mean square"},
              [EPSILON] = {"epsilon", 1e-6, 0, 1, "added to the root of the mean square"},
              [DECAY] = {"weight_decay", 0, 0, 1e3, "added to the direction, times the weight"}},
    .scalars = {"step_size", "correction2", "correction1"},
    .at_step = at_step,
    .slot = slot,
    .update = update,
};
