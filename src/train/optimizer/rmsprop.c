/* rmsprop.c - gradients divided by the root of their running mean square. */
#include "op/util/formula.h"
#include "train/optimizer.h"

enum { ALPHA, EPSILON, MOMENTUM, CENTERED, DECAY };

/* Slots: the mean square, then the mean if centred, then the momentum. */
static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    const char *names[TAKT_OPT_SLOTS] = {"square"};
    size_t count = 1;
    (void)type;
    if (hyper[CENTERED] != 0)
        names[count++] = "mean";
    if (hyper[MOMENTUM] != 0)
        names[count++] = "momentum";
    return index < count ? names[index] : NULL;
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const double *h = u->hyper;
    size_t last = 0;
    const takt_id grad = takt_grad_decayed(u, h[DECAY]);
    takt_id square = u->next[0] = takt_decay_to(g, u->slot[0], takt_square(g, grad), h[ALPHA]);
    if (h[CENTERED] != 0) {
        last = 1;
        u->next[1] = takt_lerp(g, u->slot[1], grad, 1 - h[ALPHA]);
        square = takt_sub(g, square, takt_square(g, u->next[1]));
    }
    const takt_id root = takt_add_scalar(g, takt_unary(g, &takt_op_sqrt, square), h[EPSILON]);
    takt_id way = takt_div(g, grad, root);
    if (h[MOMENTUM] != 0) {
        last++;
        way = takt_add(g, takt_mul_scalar(g, u->slot[last], h[MOMENTUM]), way);
        u->next[last] = way;
    }
    return takt_sub(g, u->weight, takt_mul(g, way, u->rate));
}

const takt_optimizer takt_optimizer_rmsprop = {
    .name = "rmsprop",
    .summary = "gradients divided by the root of their running mean square",
    .rate = 1e-2,
    .hyper = {[ALPHA] = {"alpha", 0.99, 0, 1, "decay of the mean square"},
              [EPSILON] = {"epsilon", 1e-8, 0, 1, "added to the root"},
              [MOMENTUM] = {"momentum", 0, 0, 1, "share of the last step that is kept"},
              [CENTERED] = {"centered", 0, 0, 1, "1: divide by the deviation instead"},
              [DECAY] = {"weight_decay", 0, 0, 1e3, "added to the gradient, times the weight"}},
    .slot = slot,
    .update = update,
};
