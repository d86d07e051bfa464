/* focal.c - cross-entropy in which easy samples have less weight (Lin et al., 2017). */
#include "op/util/formula.h"
#include "train/loss.h"

enum { GAMMA, AXIS };

/* (1 - p)^gamma * -log p, where p = exp(-cross-entropy). */
static void build(takt_loss_site *site)
{
    takt_graph *g = site->g;
    const takt_id entropy =
        takt_cast(g, takt_loss_each(site, &takt_op_cross_entropy, 0, NULL), TAKT_F32);
    const takt_id p = takt_unary(g, &takt_op_exp, takt_neg(g, entropy));
    const takt_id rest = takt_add_scalar(g, takt_neg(g, p), 1);
    const takt_id power = takt_scalar_like(g, rest, site->hyper[GAMMA]);
    const takt_id factor = takt_binary(g, &takt_op_pow, rest, power);
    takt_loss_sum(site, takt_mul(g, factor, entropy));
    takt_loss_hits(site, TAKT_NONE);
}

const takt_loss takt_loss_focal = {
    .name = "focal",
    .summary = "class numbers: cross-entropy in which easy samples weigh less",
    .hyper = {[GAMMA] = {"gamma", 2, 1, 16, "how much less"}, [AXIS] = TAKT_LOSS_AXIS},
    .activation = &takt_op_softmax,
    .has_classes = true,
    .labels = takt_labels_of_classes,
    .build = build,
};
