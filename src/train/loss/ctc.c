/* ctc.c - sequences of classes without their times (A. Graves et al., 2006).
 *
 * The output is [batch, time, classes]; labels are [batch, length], padded with numbers below 0.
 * Blanks are inserted between and around the labels: 2 * length + 1 places. alpha[s] is the
 * logarithm of the probability of all paths that are at place s; one time step adds those that
 * stay, that come from the previous place, and that skip a blank between two different labels. */
#include "op/util/formula.h"
#include "train/loss.h"

enum { LENGTH, BLANK };
enum { STEPS = 2048 };             /* every time step has its own nodes */
static const double NEVER = -1e30; /* the logarithm of 0, without infinities */

/* Places moved up by `by`, with NEVER at the beginning. */
static takt_id moved(takt_graph *g, takt_id x, int64_t by)
{
    const takt_id start = takt_slice(g, x, 1, 0, by, 1);
    const takt_id never = takt_add_scalar(g, takt_mul_scalar(g, start, 0), NEVER);
    const takt_id in[2] = {never, takt_slice(g, x, 1, 0, -by, 1)};
    return takt_concat(g, in, 2, 1);
}

/* log(exp(a) + exp(b) + …) */
static takt_id log_sum(takt_graph *g, const takt_id *x, size_t count)
{
    takt_id most = x[0], sum = TAKT_NONE;
    for (size_t i = 1; i < count; i++)
        most = takt_binary(g, &takt_op_max, most, x[i]);
    for (size_t i = 0; i < count; i++) {
        const takt_id part = takt_unary(g, &takt_op_exp, takt_sub(g, x[i], most));
        sum = i == 0 ? part : takt_add(g, sum, part);
    }
    return takt_add(g, most, takt_unary(g, &takt_op_log, sum));
}

/* Blank, label, blank, … , blank: [batch, 2 * length + 1]. */
static takt_id places(takt_graph *g, takt_id labels, takt_id is_there, double blank)
{
    const takt_type type = *takt_type_of(g, labels);
    const int64_t last = -1;
    const takt_named_attr axes = {"axes", takt_attr_i64s(&last, 1)};
    const takt_id blanks = takt_add_scalar(g, takt_mul_scalar(g, labels, 0), blank);
    const takt_id known = takt_select(g, is_there, labels, blanks);
    const takt_id pair[2] = {takt_graph_call(g, &takt_op_unsqueeze, 1, &blanks, 1, &axes),
                             takt_graph_call(g, &takt_op_unsqueeze, 1, &known, 1, &axes)};
    const takt_dim flat[2] = {type.dim[0], 2 * type.dim[1]};
    const takt_id in[2] = {takt_reshape(g, takt_concat(g, pair, 2, -1), flat, 2),
                           takt_slice(g, blanks, 1, 0, 1, 1)};
    return takt_concat(g, in, 2, 1);
}

/* 0 where a path may come from two positions before, else NEVER. */
static takt_id shortcuts(takt_graph *g, takt_id at, double blank)
{
    const takt_id value = takt_cast(g, at, TAKT_F32);
    const takt_id before = moved(g, value, 2);
    const takt_id differs = takt_binary(g, &takt_op_ne, value, before);
    const takt_id is_label = takt_binary(g, &takt_op_ne, value, takt_scalar_like(g, value, blank));
    const takt_id zero = takt_scalar_like(g, value, 0), never = takt_scalar_like(g, value, NEVER);
    return takt_select(g, takt_binary(g, &takt_op_and, differs, is_label), zero, never);
}

static takt_id picked(takt_graph *g, takt_id from, takt_id index)
{
    const takt_id in[2] = {from, index};
    const takt_named_attr axis = {"axis", takt_attr_i64(1)};
    return takt_graph_call(g, &takt_op_gather_elements, 2, in, 1, &axis);
}

/* Emission of position s at time t: [batch, positions]. */
static takt_id emitted(takt_graph *g, takt_id log_p, int64_t time, takt_id at)
{
    const takt_type type = *takt_type_of(g, log_p);
    const takt_dim flat[2] = {type.dim[0], type.dim[2]};
    return picked(g, takt_reshape(g, takt_slice(g, log_p, 1, time, time + 1, 1), flat, 2), at);
}

/* Paths end on the last label or on the blank after it; without labels on the only blank. */
static takt_id ends(takt_graph *g, takt_id alpha, takt_id is_there)
{
    const int64_t last = 1;
    const takt_id count =
        takt_reduce_over(g, &takt_op_reduce_sum, takt_cast(g, is_there, TAKT_I64), &last, 1, true);
    const takt_id end = takt_mul_scalar(g, count, 2);
    const takt_id label =
        takt_binary(g, &takt_op_max, takt_add_scalar(g, end, -1), takt_scalar_like(g, end, 0));
    const takt_id never = takt_scalar_like(g, alpha, NEVER);
    const takt_id has_label = takt_binary(g, &takt_op_gt, count, takt_scalar_like(g, count, 0));
    const takt_id in[2] = {picked(g, alpha, end),
                           takt_select(g, has_label, picked(g, alpha, label), never)};
    return log_sum(g, in, 2);
}

static void build(takt_loss_site *site)
{
    takt_graph *g = site->g;
    const takt_type type = *takt_type_of(g, site->output);
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    const takt_id x = takt_widen(g, site->output);
    if (!takt_dim_is_number(type.dim[1]) || type.dim[1] > STEPS) {
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_TRAIN_LOSS,
                                     "ctc needs a number of time steps, at most %d", STEPS));
        return;
    }
    const takt_id log_p = takt_graph_call(g, &takt_op_log_softmax, 1, &x, 1, &axis);
    const takt_id zero = takt_scalar_like(g, site->labels, 0);
    const takt_id is_there = takt_binary(g, &takt_op_ge, site->labels, zero);
    const takt_id at = places(g, site->labels, is_there, site->hyper[BLANK]);
    const takt_id jumps = shortcuts(g, at, site->hyper[BLANK]);
    const takt_id first = emitted(g, log_p, 0, at);
    const takt_id rest = takt_slice(g, first, 1, 2, INT64_MAX, 1);
    const takt_id start[2] = {takt_slice(g, first, 1, 0, 2, 1),
                              takt_add_scalar(g, takt_mul_scalar(g, rest, 0), NEVER)};
    takt_id alpha = takt_concat(g, start, 2, 1);
    for (int64_t t = 1; t < type.dim[1] && g->status == TAKT_OK; t++) {
        const takt_id from[3] = {alpha, moved(g, alpha, 1), takt_add(g, moved(g, alpha, 2), jumps)};
        alpha = takt_add(g, log_sum(g, from, 3), emitted(g, log_p, t, at));
    }
    takt_loss_sum(site, takt_neg(g, ends(g, alpha, is_there)));
}

static void labels(const double *hyper, takt_type *type)
{
    type->dtype = TAKT_I64;
    type->rank = 2;
    type->dim[1] = (int64_t)hyper[LENGTH];
}

const takt_loss takt_loss_ctc = {
    .name = "ctc",
    .summary = "sequences of class numbers, padded with -1, without their times",
    .rank = 3,
    .hyper = {[LENGTH] = {"length", 16, 1, 1024, "labels of a sample, with padding"},
              [BLANK] = {"blank", 0, 0, 1e6, "the class that means nothing"}},
    .labels_by = labels,
    .build = build,
};
