/* huber.c - squared near the target, absolute far from it. */
#include "op/record/huber.h"
#include "train/loss.h"

enum { DELTA };

static void build(takt_loss_site *site)
{
    const takt_named_attr delta = {"delta", takt_attr_f64(site->hyper[DELTA])};
    takt_loss_sum(site, takt_loss_each(site, &takt_op_huber, 1, &delta));
}

const takt_loss takt_loss_huber = {
    .name = "huber",
    .summary = "squared near a target of the output's shape, absolute far from it",
    .hyper = {[DELTA] = {"delta", 1, 1e-12, 1e12, "where near ends"}},
    .labels = takt_labels_alike,
    .build = build,
};
