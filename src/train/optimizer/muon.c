/* muon.c - momentum of matrices made orthogonal (Jordan, 2024); AdamW for everything else.
 *
 * Five iterations of Newton and Schulz bring the singular values of the momentum close to 1. The
 * products run in f32; PyTorch runs them in bf16.
 */
#include <math.h>

#include "op/util/formula.h"
#include "train/optimizer.h"

enum { MOMENTUM, NESTEROV, DECAY, ROUNDS, BETA1, BETA2, EPSILON };

static void at_step(const double *hyper, double rate, uint64_t step, double *scalar)
{
    takt_adam_at_step(hyper[BETA1], hyper[BETA2], rate, step, scalar);
}

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    static const char *const names[] = {"mean", "square", NULL};
    (void)hyper;
    if (type->rank == 2)
        return index == 0 ? "momentum" : NULL;
    return takt_slot_alike(names, index);
}

/* The matrix with the same singular vectors whose singular values are near 1. */
static takt_id orthogonal(takt_graph *g, takt_id x, bool is_tall, int rounds)
{
    static const double a = 3.4445, b = -4.7750, c = 2.0315;
    const takt_id norm = takt_norm_of(g, x);
    const takt_id least = takt_scalar_like(g, norm, 1e-7);
    x = takt_div(g, x, takt_binary(g, &takt_op_max, norm, least));
    for (int i = 0; i < rounds; i++) { /* the smaller of x xT and xT x */
        const takt_id s = takt_matmul(g, x, x, is_tall, !is_tall);
        const takt_id s2 = takt_matmul(g, s, s, false, false);
        const takt_id p = takt_add(g, takt_mul_scalar(g, s, b), takt_mul_scalar(g, s2, c));
        const takt_id px =
            is_tall ? takt_matmul(g, x, p, false, false) : takt_matmul(g, p, x, false, false);
        x = takt_add(g, takt_mul_scalar(g, x, a), px);
    }
    return x;
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const double *h = u->hyper;
    const takt_type *type = takt_type_of(g, u->weight);
    const takt_id kept = takt_weight_decayed(u, h[DECAY]);
    if (type->rank != 2) {
        const takt_id way = takt_adam_direction(u, h[BETA1], h[BETA2], h[EPSILON]);
        return takt_adam_step(u, kept, way);
    }
    const double rows = (double)type->dim[0], columns = (double)type->dim[1];
    u->next[0] = takt_lerp(g, u->slot[0], u->grad, 1 - h[MOMENTUM]);
    const takt_id way =
        h[NESTEROV] != 0 ? takt_lerp(g, u->grad, u->next[0], h[MOMENTUM]) : u->next[0];
    const takt_id even = orthogonal(g, way, rows > columns, (int)h[ROUNDS]);
    const takt_id size = takt_mul_scalar(g, u->rate, sqrt(fmax(1, rows / columns)));
    return takt_sub(g, kept, takt_mul(g, even, size));
}

const takt_optimizer takt_optimizer_muon = {
    .name = "muon",
    .summary = "orthogonal steps for matrices, AdamW for other parameters",
    .rate = 1e-3,
    .hyper = {[MOMENTUM] = {"momentum", 0.95, 0, 1, "decay of the momentum of matrices"},
              [NESTEROV] = {"nesterov", 1, 0, 1, "1: look ahead along the momentum"},
              [DECAY] = {"weight_decay", 0.1, 0, 1e3, "share of the weight lost per unit of rate"},
              [ROUNDS] = {"rounds", 5, 1, 20, "iterations of Newton and Schulz"},
              [BETA1] = {"beta1", 0.9, 0, TAKT_BELOW_ONE, "of AdamW"},
              [BETA2] = {"beta2", 0.999, 0, TAKT_BELOW_ONE, "of AdamW"},
              [EPSILON] = {"epsilon", 1e-8, 0, 1, "of AdamW"}},
    .scalars = {"step_size", "correction2"},
    .at_step = at_step,
    .slot = slot,
    .update = update,
};
