/* bce.c - probabilities: binary cross-entropy with a target from 0 to 1. */
#include "op/record/bce.h"
#include "train/loss.h"

static void build(takt_loss_site *site)
{
    takt_loss_sum(site, takt_loss_each(site, &takt_op_bce, 0, NULL));
}

const takt_loss takt_loss_bce = {
    .name = "bce",
    .summary = "probabilities: binary cross-entropy with a target from 0 to 1",
    .labels = takt_labels_alike,
    .build = build,
};
