/* distillation.c - classes learned from a teacher's logits and from labels.
 *
 * alpha * T^2 * KL(softmax(teacher / T) || softmax(output / T)) + (1 - alpha) * cross entropy
 * (G. Hinton, O. Vinyals, J. Dean, 2015).
 */
#include "op/util/formula.h"
#include "train/loss.h"

enum { TEMPERATURE, ALPHA };

static takt_id log_softmax(takt_graph *g, takt_id x, double temperature)
{
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    const takt_id cool = takt_mul_scalar(g, takt_widen(g, x), 1 / temperature);
    return takt_graph_call(g, &takt_op_log_softmax, 1, &cool, 1, &axis);
}

static void build(takt_loss_site *site)
{
    takt_graph *g = site->g;
    const int64_t last = -1;
    const double t = site->hyper[TEMPERATURE], alpha = site->hyper[ALPHA];
    const takt_id want = log_softmax(g, site->extra, t), have = log_softmax(g, site->output, t);
    const takt_id terms = takt_mul(g, takt_unary(g, &takt_op_exp, want), takt_sub(g, want, have));
    const takt_id soft = takt_reduce_over(g, &takt_op_reduce_sum, terms, &last, 1, false);
    const takt_id hard = takt_loss_each(site, &takt_op_cross_entropy, 0, NULL);
    takt_loss_sum(site, takt_add(g, takt_mul_scalar(g, soft, alpha * t * t),
                                 takt_mul_scalar(g, takt_cast(g, hard, TAKT_F32), 1 - alpha)));
    takt_loss_hits(site, TAKT_NONE);
}

const takt_loss takt_loss_distillation = {
    .name = "distillation",
    .summary = "class numbers and a teacher's logits, the field teacher of the data",
    .hyper = {[TEMPERATURE] = {"T", 2, 1e-3, 1e3, "temperature of both softmaxes"},
              [ALPHA] = {"alpha", 0.5, 0, 1, "weight of the teacher; the labels have the rest"}},
    .activation = &takt_op_softmax,
    .extra = "teacher",
    .has_classes = true,
    .labels = takt_labels_of_classes,
    .build = build,
};
