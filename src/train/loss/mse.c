/* mse.c - the squared difference from a target of the output's shape. */
#include "op/record/mse.h"
#include "train/loss.h"

static void build(takt_loss_site *site)
{
    takt_loss_sum(site, takt_loss_each(site, &takt_op_mse, 0, NULL));
}

const takt_loss takt_loss_mse = {
    .name = "mse",
    .summary = "the squared difference from a target of the output's shape",
    .labels = takt_labels_alike,
    .build = build,
};
