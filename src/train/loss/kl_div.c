/* kl_div.c - log-probabilities: divergence from a target distribution. */
#include "op/record/kl_div.h"
#include "train/loss.h"

static void build(takt_loss_site *site)
{
    takt_loss_sum(site, takt_loss_each(site, &takt_op_kl_div, 0, NULL));
}

const takt_loss takt_loss_kl_div = {
    .name = "kl_div",
    .summary = "log-probabilities: divergence from a target distribution, mean over elements",
    .labels = takt_labels_alike,
    .build = build,
};
