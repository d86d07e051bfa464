/* lion.c - the sign of an interpolated momentum (Chen et al., 2023). */
#include "train/optimizer.h"

enum { BETA1, BETA2, DECAY };

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    (void)hyper;
    (void)type;
    return index == 0 ? "momentum" : NULL;
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const double *h = u->hyper;
    const takt_id mixed = takt_decay_to(g, u->slot[0], u->grad, h[BETA1]);
    takt_id way = takt_unary(g, &takt_op_sign, mixed);
    if (h[DECAY] != 0)
        way = takt_add(g, way, takt_mul_scalar(g, u->weight, h[DECAY]));
    u->next[0] = takt_decay_to(g, u->slot[0], u->grad, h[BETA2]);
    return takt_sub(g, u->weight, takt_mul(g, way, u->rate));
}

const takt_optimizer takt_optimizer_lion = {
    .name = "lion",
    .summary = "steps of one size, by the sign of an interpolated momentum",
    .rate = 1e-4,
    .hyper = {[BETA1] = {"beta1", 0.9, 0, 1, "share of the momentum in the step"},
              [BETA2] = {"beta2", 0.99, 0, 1, "decay of the momentum"},
              [DECAY] = {"weight_decay", 1e-3, 0, 1e3,
                         "share of the weight lost per unit of rate"}},
    .slot = slot,
    .update = update,
};
