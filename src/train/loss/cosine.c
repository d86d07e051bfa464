/* cosine.c - 1 - the cosine of the angle between output and target, over the last axis. */
#include "op/util/formula.h"
#include "train/loss.h"

static takt_id dot(takt_graph *g, takt_id a, takt_id b)
{
    const int64_t last = -1;
    return takt_reduce_over(g, &takt_op_reduce_sum, takt_mul(g, a, b), &last, 1, false);
}

static void build(takt_loss_site *site)
{
    takt_graph *g = site->g;
    const takt_id x = takt_widen(g, site->output), t = takt_widen(g, site->labels);
    const takt_id product = takt_mul(g, dot(g, x, x), dot(g, t, t));
    const takt_id least = takt_scalar_like(g, product, 1e-16);
    const takt_id root = takt_unary(g, &takt_op_sqrt, takt_binary(g, &takt_op_max, product, least));
    const takt_id cosine = takt_div(g, dot(g, x, t), root);
    takt_loss_sum(site, takt_add_scalar(g, takt_neg(g, cosine), 1));
}

const takt_loss takt_loss_cosine = {
    .name = "cosine",
    .summary = "1 - the cosine between the output and a target of its shape",
    .labels = takt_labels_alike,
    .build = build,
};
