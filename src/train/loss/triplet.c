/* triplet.c - embeddings: samples of a class closer to each other than to any other class.
 *
 * For every sample the farthest one of its class and the nearest one of another are taken from the
 * batch (batch-hard; A. Hermans, L. Beyer, B. Leibe, 2017). Samples that lack either do not count.
 */
#include "op/util/formula.h"
#include "train/loss.h"

enum { MARGIN };
static const double FAR = 1e18;

/* A column as a row. */
static takt_id transposed(takt_graph *g, takt_id x)
{
    static const int64_t perm[] = {1, 0};
    return takt_transpose(g, x, perm, 2);
}

/* Distances between all pairs of rows. The root has no derivative at 0, so squares are at least
 * 1e-12. */
static takt_id distances(takt_graph *g, takt_id x)
{
    const int64_t last = -1;
    const takt_id squares =
        takt_reduce_over(g, &takt_op_reduce_sum, takt_square(g, x), &last, 1, true);
    const takt_id twice = takt_mul_scalar(g, takt_matmul(g, x, x, false, true), 2);
    const takt_id sum = takt_sub(g, takt_add(g, squares, transposed(g, squares)), twice);
    const takt_id least = takt_scalar_like(g, sum, 1e-12);
    return takt_unary(g, &takt_op_sqrt, takt_binary(g, &takt_op_max, sum, least));
}

static takt_id count_of(takt_graph *g, takt_id marks)
{
    const int64_t last = -1;
    return takt_reduce_over(g, &takt_op_reduce_sum, takt_cast(g, marks, TAKT_F32), &last, 1, false);
}

static void build(takt_loss_site *site)
{
    takt_graph *g = site->g;
    const int64_t last = -1;
    const takt_id x = takt_widen(g, site->output);
    const takt_named_attr axes = {"axes", takt_attr_i64s(&last, 1)};
    const takt_id column = takt_graph_call(g, &takt_op_unsqueeze, 1, &site->labels, 1, &axes);
    const takt_id is_same = takt_binary(g, &takt_op_eq, column, transposed(g, column));
    const takt_id all = distances(g, x);
    const takt_id none = takt_scalar_like(g, all, 0), beyond = takt_scalar_like(g, all, FAR);
    const takt_id near = takt_reduce_over(g, &takt_op_reduce_max,
                                          takt_select(g, is_same, all, none), &last, 1, false);
    const takt_id far = takt_reduce_over(g, &takt_op_reduce_min,
                                         takt_select(g, is_same, beyond, all), &last, 1, false);
    const takt_id others = count_of(g, takt_unary(g, &takt_op_not, is_same));
    const takt_id counts = takt_binary(g, &takt_op_and, takt_is_above(g, count_of(g, is_same), 1.5),
                                       takt_is_above(g, others, 0.5));
    const takt_id gap = takt_add_scalar(g, takt_sub(g, near, far), site->hyper[MARGIN]);
    site->sum = takt_sum_all(g, takt_keep_where(g, counts, takt_unary(g, &takt_op_relu, gap)));
    site->count = takt_sum_all(g, counts);
    site->may_be_empty = true;
}

const takt_loss takt_loss_triplet = {
    .name = "triplet",
    .summary = "embeddings and class numbers: the farthest of a class nearer than any other class",
    .rank = 2,
    .hyper = {[MARGIN] = {"margin", 0.2, 0, 1e6, "how much nearer"}},
    .labels = takt_labels_of_classes,
    .build = build,
};
