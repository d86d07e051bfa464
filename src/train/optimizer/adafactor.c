/* adafactor.c - mean squares of matrices kept as a row and a column (Shazeer and Stern, 2018).
 *
 * As in PyTorch: the step is relative to the root mean square of the weight, the mean squares decay
 * ever more slowly, and no decay of the first moment is kept. Of tensors with more than two axes
 * the last two are factored.
 */
#include <float.h>
#include <math.h>

#include "op/util/formula.h"
#include "train/optimizer.h"

enum { BETA2_DECAY, EPSILON2, CLIP, DECAY };
enum { NEW_SHARE, RELATIVE_RATE };

static void at_step(const double *hyper, double rate, uint64_t step, double *scalar)
{
    scalar[NEW_SHARE] = pow((double)step, -hyper[BETA2_DECAY]);
    scalar[RELATIVE_RATE] = fmin(rate, 1 / sqrt((double)step));
}

static const char *slot(const double *hyper, size_t index, takt_type *type)
{
    (void)hyper;
    if (type->rank < 2)
        return index == 0 ? "square" : NULL;
    if (index > 1)
        return NULL;
    type->dim[index == 0 ? type->rank - 1 : type->rank - 2] = 1;
    return index == 0 ? "rows" : "columns";
}

static takt_id lerp_by(takt_graph *g, takt_id a, takt_id b, takt_id t)
{
    return takt_add(g, a, takt_mul(g, takt_sub(g, b, a), t));
}

static takt_id mean_over(takt_graph *g, takt_id x, int64_t axis)
{
    return takt_reduce_over(g, &takt_op_reduce_mean, x, &axis, 1, true);
}

/* The estimate of the mean square of every element. */
static takt_id square_of(takt_update *u)
{
    takt_graph *g = u->g;
    const takt_id squares = takt_square(g, u->grad);
    if (takt_type_of(g, u->weight)->rank < 2)
        return u->next[0] = lerp_by(g, u->slot[0], squares, u->scalar[NEW_SHARE]);
    u->next[0] = lerp_by(g, u->slot[0], mean_over(g, squares, -1), u->scalar[NEW_SHARE]);
    u->next[1] = lerp_by(g, u->slot[1], mean_over(g, squares, -2), u->scalar[NEW_SHARE]);
    const takt_id mean = mean_over(g, u->next[0], -2);
    const takt_id least = takt_scalar_like(g, mean, FLT_EPSILON);
    return takt_div(g, takt_mul(g, u->next[0], u->next[1]),
                    takt_binary(g, &takt_op_max, mean, least));
}

static takt_id root_mean_square(takt_graph *g, takt_id x)
{
    const takt_id squares = takt_square(g, x);
    return takt_unary(g, &takt_op_sqrt,
                      takt_reduce_over(g, &takt_op_reduce_mean, squares, NULL, 0, false));
}

static takt_id update(takt_update *u)
{
    takt_graph *g = u->g;
    const double *h = u->hyper;
    const takt_id kept = takt_weight_decayed(u, h[DECAY]);
    const takt_id size = root_mean_square(g, kept);
    const takt_id floor = takt_scalar_like(g, size, h[EPSILON2]);
    const takt_id rate =
        takt_mul(g, takt_binary(g, &takt_op_max, size, floor), u->scalar[RELATIVE_RATE]);
    const takt_id square = square_of(u);
    const takt_id least = takt_scalar_like(g, square, (double)FLT_EPSILON * FLT_EPSILON);
    const takt_id root = takt_unary(g, &takt_op_sqrt, takt_binary(g, &takt_op_max, square, least));
    const takt_id way = takt_div(g, u->grad, root);
    const takt_id over = takt_mul_scalar(g, root_mean_square(g, way), 1 / h[CLIP]);
    const takt_id one = takt_scalar_like(g, over, 1);
    const takt_id scale = takt_div(g, rate, takt_binary(g, &takt_op_max, over, one));
    return takt_sub(g, kept, takt_mul(g, way, scale));
}

const takt_optimizer takt_optimizer_adafactor = {
    .name = "adafactor",
    .summary = "little state: mean squares of matrices as one row and one column",
    .rate = 1e-2,
    .hyper = {[BETA2_DECAY] = {"beta2_decay", 0.8, 0, 1, "new squares count 1 / step^this"},
              [EPSILON2] = {"epsilon2", 1e-3, 0, 1, "least size that a step is relative to"},
              [CLIP] = {"clip", 1, 1e-6, 1e6, "largest root mean square of a step"},
              [DECAY] = {"weight_decay", 0, 0, 1e3, "share of the weight lost per unit of rate"}},
    .scalars = {"new_share", "relative_rate"},
    .at_step = at_step,
    .slot = slot,
    .update = update,
};
