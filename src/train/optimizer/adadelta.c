/* adadelta.c - steps in units of the running size of earlier steps (Zeiler, 2012). */
#include "op/util/formula.h"
#include "train/optimizer.h"

enum { RHO, EPSILON, DECAY };

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    static const char *const names[] = {"square", "moved", NULL};
    (void)hyper;
    (void)type;
    return takt_slot_alike(names, index);
}

static takt_id root_of(takt_graph *g, takt_id square, double epsilon)
{
    return takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, square, epsilon));
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const double *h = u->hyper;
    const takt_id grad = takt_grad_decayed(u, h[DECAY]);
    u->next[0] = takt_decay_to(g, u->slot[0], takt_square(g, grad), h[RHO]);
    const takt_id scale =
        takt_div(g, root_of(g, u->slot[1], h[EPSILON]), root_of(g, u->next[0], h[EPSILON]));
    const takt_id way = takt_mul(g, scale, grad);
    u->next[1] = takt_decay_to(g, u->slot[1], takt_square(g, way), h[RHO]);
    return takt_sub(g, u->weight, takt_mul(g, way, u->rate));
}

const takt_optimizer takt_optimizer_adadelta = {
    .name = "adadelta",
    .summary = "steps in units of the running size of earlier steps",
    .rate = 1,
    .hyper = {[RHO] = {"rho", 0.9, 0, 1, "decay of both mean squares"},
              [EPSILON] = {"epsilon", 1e-6, 0, 1, "added to both mean squares"},
              [DECAY] = {"weight_decay", 0, 0, 1e3, "added to the gradient, times the weight"}},
    .slot = slot,
    .update = update,
};
