/* mae.c - the absolute difference from a target of the output's shape. */
#include "op/record/mae.h"
#include "train/loss.h"

static void build(takt_loss_site *site)
{
    takt_loss_sum(site, takt_loss_each(site, &takt_op_mae, 0, NULL));
}

const takt_loss takt_loss_mae = {
    .name = "mae",
    .summary = "the absolute difference from a target of the output's shape",
    .labels = takt_labels_alike,
    .build = build,
};
