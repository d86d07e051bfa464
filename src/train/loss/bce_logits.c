/* bce_logits.c - logits: binary cross-entropy with a target from 0 to 1. */
#include "op/record/bce_logits.h"
#include "train/loss.h"

static void build(takt_loss_site *site)
{
    takt_loss_sum(site, takt_loss_each(site, &takt_op_bce_logits, 0, NULL));
}

const takt_loss takt_loss_bce_logits = {
    .name = "bce_logits",
    .summary = "logits: binary cross-entropy with a target from 0 to 1",
    .activation = &takt_op_sigmoid,
    .labels = takt_labels_alike,
    .build = build,
};
