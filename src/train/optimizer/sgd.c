/* sgd.c - stochastic gradient descent, with momentum (Nesterov's too) and L2 decay. */
#include "train/optimizer.h"

enum { MOMENTUM, NESTEROV, DECAY };

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    (void)type;
    return index == 0 && hyper[MOMENTUM] != 0 ? "momentum" : NULL;
}

static const char *refused(const double *hyper, const char **hint)
{
    *hint = "write momentum=0.9 too";
    return hyper[NESTEROV] != 0 && hyper[MOMENTUM] == 0
               ? "nesterov looks ahead along the momentum, which is 0"
               : NULL;
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const double momentum = u->hyper[MOMENTUM];
    takt_id way = takt_grad_decayed(u, u->hyper[DECAY]);
    if (momentum != 0) {
        u->next[0] = takt_add(g, takt_mul_scalar(g, u->slot[0], momentum), way);
        way = u->hyper[NESTEROV] != 0 ? takt_add(g, way, takt_mul_scalar(g, u->next[0], momentum))
                                      : u->next[0];
    }
    return takt_sub(g, u->weight, takt_mul(g, way, u->rate));
}

const takt_optimizer takt_optimizer_sgd = {
    .name = "sgd",
    .summary = "gradient descent, with momentum if it is not 0",
    .rate = 1e-2,
    .hyper = {[MOMENTUM] = {"momentum", 0, 0, 1, "share of the last step that is kept"},
              [NESTEROV] = {"nesterov", 0, 0, 1, "1: look ahead along the momentum"},
              [DECAY] = {"weight_decay", 0, 0, 1e3, "added to the gradient, times the weight"}},
    .refused = refused,
    .slot = slot,
    .update = update,
};
