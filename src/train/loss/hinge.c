/* hinge.c - classes by margin: every wrong class must stay `margin` below the right one. */
#include "op/record/one_hot.h"
#include "op/util/formula.h"
#include "train/loss.h"

enum { MARGIN };

/* The mean over classes of max(0, margin - x[label] + x[i]), except for the label itself. */
static void build(takt_loss_site *site)
{
    takt_graph *g = site->g;
    const takt_type type = *takt_type_of(g, site->output);
    const takt_named_attr classes[] = {{"depth", takt_attr_i64(type.dim[type.rank - 1])},
                                       {"dtype", takt_attr_dtype(type.dtype)}};
    const takt_id mark = takt_graph_call(g, &takt_op_one_hot, 1, &site->labels, 2, classes);
    const int64_t last = -1;
    const takt_id own =
        takt_reduce_over(g, &takt_op_reduce_sum, takt_mul(g, mark, site->output), &last, 1, true);
    const takt_id over = takt_add_scalar(g, takt_sub(g, site->output, own), site->hyper[MARGIN]);
    const takt_id others =
        takt_keep_where(g, takt_is_below(g, mark, 0.5), takt_unary(g, &takt_op_relu, over));
    const takt_id sum = takt_reduce_over(g, &takt_op_reduce_sum, others, &last, 1, false);
    takt_loss_sum(site, takt_mul_scalar(g, sum, 1 / (double)type.dim[type.rank - 1]));
    takt_loss_hits(site, TAKT_NONE);
}

const takt_loss takt_loss_hinge = {
    .name = "hinge",
    .summary = "class numbers: wrong classes must stay a margin below the right one",
    .hyper = {[MARGIN] = {"margin", 1, 0, 1e6, "how far below"}},
    .has_classes = true,
    .labels = takt_labels_of_classes,
    .build = build,
};
