/* adagrad.c - gradients divided by the root of the sum of all squares so far. */
#include "op/util/formula.h"
#include "train/optimizer.h"

enum { RATE_DECAY, EPSILON, DECAY };

static void at_step(const double *hyper, double rate, uint64_t step, double *scalar)
{
    scalar[0] = rate / (1 + (double)(step - 1) * hyper[RATE_DECAY]);
}

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    (void)hyper;
    (void)type;
    return index == 0 ? "sum" : NULL;
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const takt_id grad = takt_grad_decayed(u, u->hyper[DECAY]);
    u->next[0] = takt_add(g, u->slot[0], takt_square(g, grad));
    const takt_id root = takt_unary(g, &takt_op_sqrt, u->next[0]);
    const takt_id way = takt_div(g, grad, takt_add_scalar(g, root, u->hyper[EPSILON]));
    return takt_sub(g, u->weight, takt_mul(g, way, u->scalar[0]));
}

const takt_optimizer takt_optimizer_adagrad = {
    .name = "adagrad",
    .summary = "gradients divided by the root of the sum of all their squares",
    .rate = 1e-2,
    .hyper = {[RATE_DECAY] = {"rate_decay", 0, 0, 1e3, "the rate falls as 1 / (1 + step * this)"},
              [EPSILON] = {"epsilon", 1e-10, 0, 1, "added to the root"},
              [DECAY] = {"weight_decay", 0, 0, 1e3, "added to the gradient, times the weight"}},
    .scalars = {"falling_rate"},
    .at_step = at_step,
    .slot = slot,
    .update = update,
};
