/* cross_entropy.c - classes by softmax: the negative log probability of the right one. */
#include "train/loss.h"

#include "op/util/formula.h"

enum { SMOOTHING, IGNORE, SOFT, AXIS };

/* Each row's loss times the weight of its class, which is returned; the divisor is the sum of these
 * weights. */
static takt_id weigh(takt_loss_site *site, takt_id each, takt_id counts)
{
    takt_graph *g = site->g;
    const takt_id zero = takt_scalar_like(g, site->labels, 0);
    const takt_id labels =
        counts == TAKT_NONE ? site->labels : takt_select(g, counts, site->labels, zero);
    const takt_id in[2] = {site->weights, labels};
    const takt_named_attr axis = {"axis", takt_attr_i64(0)};
    takt_id weight = takt_graph_call(g, &takt_op_gather, 2, in, 1, &axis);
    if (counts != TAKT_NONE)
        weight = takt_keep_where(g, counts, weight);
    site->sum = takt_sum_all(g, takt_mul(g, takt_cast(g, each, TAKT_F32), weight));
    site->count = takt_sum_all(g, weight);
    return weight;
}

static void labels(const double *hyper, takt_type *type)
{
    if (hyper[SOFT] == 0)
        takt_labels_of_classes(type);
}

/* Labels are distributions over classes; a row is right if the maximum of both is at the same
 * place. */
static void build_soft(takt_loss_site *site)
{
    takt_graph *g = site->g;
    const takt_named_attr smoothing = {"smoothing", takt_attr_f64(site->hyper[SMOOTHING])};
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    if (site->weights != TAKT_NONE || (int64_t)site->hyper[IGNORE] != INT64_MIN) {
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_TRAIN_LOSS,
                                     "cross_entropy: class weights and ignore are for labels that "
                                     "are class numbers, not with soft=1"));
        return;
    }
    const takt_id soft = site->labels;
    site->sum = takt_loss_total(site, &takt_op_cross_entropy, 1, &smoothing);
    site->labels = takt_graph_call(g, &takt_op_argmax, 1, &soft, 1, &axis);
    site->count = takt_count_all(g, site->labels);
    takt_loss_hits(site, TAKT_NONE);
    site->labels = soft;
}

static void build(takt_loss_site *site)
{
    if (site->hyper[SOFT] != 0) {
        build_soft(site);
        return;
    }
    takt_graph *g = site->g;
    const int64_t ignored = (int64_t)site->hyper[IGNORE];
    const bool ignores = ignored != INT64_MIN;
    const takt_named_attr attrs[2] = {{"smoothing", takt_attr_f64(site->hyper[SMOOTHING])},
                                      {"ignore", takt_attr_i64(ignored)}};
    const takt_id unwanted = takt_scalar_like(g, site->labels, (double)ignored);
    const takt_id counts =
        ignores ? takt_binary(g, &takt_op_ne, site->labels, unwanted) : TAKT_NONE;
    const size_t given = ignores ? 2 : 1;
    takt_id weight = counts;
    if (site->weights != TAKT_NONE) {
        weight = weigh(site, takt_loss_each(site, &takt_op_cross_entropy, given, attrs), counts);
    } else {
        site->sum = takt_loss_total(site, &takt_op_cross_entropy, given, attrs);
        site->count = ignores ? takt_sum_all(g, counts) : takt_count_all(g, site->labels);
    }
    site->may_be_empty = ignores || site->weights != TAKT_NONE;
    takt_loss_hits(site, weight);
}

const takt_loss takt_loss_cross_entropy = {
    .name = "cross_entropy",
    .summary = "class numbers: minus the logarithm of the softmax at the label",
    .hyper = {[SMOOTHING] = {"smoothing", 0, 0, 1, "part of the target spread over all classes"},
              [IGNORE] = {"ignore", (double)INT64_MIN, (double)INT64_MIN, 1e15,
                          "label that does not count"},
              [SOFT] = {"soft", 0, 0, 1, "labels are distributions over classes (0 or 1)"},
              [AXIS] = TAKT_LOSS_AXIS},
    .activation = &takt_op_softmax,
    .takes_weights = true,
    .has_classes = true,
    .labels_by = labels,
    .build = build,
};
