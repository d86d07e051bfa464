/* Suppress.c - NON_MAX_SUPPRESSION_V4 and V5: results have room for the largest possible count. */
#include <math.h>

#include "io/tflite/suppress.h"

/* Corners in any order, as those with the lower numbers first. */
static takt_id ordered(takt_tfl_call *c, takt_id boxes)
{
    takt_id edge[4], sorted[4];
    for (int64_t k = 0; k < 4; k++)
        edge[k] = takt_tfl_edge(c, boxes, k);
    if (edge[3] == TAKT_NONE)
        return TAKT_NONE;
    for (int k = 0; k < 2; k++) {
        sorted[k] = takt_binary(c->g, &takt_op_min, edge[k], edge[k + 2]);
        sorted[k + 2] = takt_binary(c->g, &takt_op_max, edge[k], edge[k + 2]);
    }
    const takt_named_attr axis = {"axis", takt_attr_i64(1)};
    return takt_graph_call(c->g, &takt_op_stack, 4, sorted, 1, &axis);
}

static takt_status adapt(takt_tfl_call *c)
{
    const bool has_scores = takt_tfl_is(c, "NON_MAX_SUPPRESSION_V5");
    const takt_id boxes = takt_tfl_need(c, 0), scores = takt_tfl_need(c, 1);
    const int64_t most = takt_tfl_known_one(c, 2);
    const double overlap = takt_tfl_known_f(c, 3), least = takt_tfl_known_f(c, 4);
    const takt_type t = *takt_type_of(c->g, boxes);
    if (!takt_tfl_good(c))
        return c->status;
    if (has_scores && takt_tfl_known_f(c, 5) != 0)
        return takt_tfl_refuse(c, "scores that fade with overlap");
    if (t.rank != 2 || t.dim[1] != 4 || t.dim[0] < 1 || most < 1 || most > 1 << 16 ||
        c->op->output_count != (has_scores ? 3 : 2))
        return takt_tfl_refuse(c, "%lld of %lld boxes", (long long)most, (long long)t.dim[0]);
    takt_graph *g = c->g;
    const takt_id counts = takt_binary(g, &takt_op_gt, scores, takt_scalar_like(g, scores, least));
    const takt_tfl_suppress s = {
        .boxes = ordered(c, boxes),
        .scores = takt_select(g, counts, scores, takt_scalar_like(g, scores, -INFINITY)),
        .n = t.dim[0],
        .most = most,
        .overlap = overlap};
    const takt_tfl_chosen r = takt_tfl_suppressed(c, &s);
    if (r.index == TAKT_NONE)
        return takt_tfl_refuse(c, "boxes that cannot be chosen");
    const int64_t first = 0;
    takt_tfl_set(c, 0, takt_select(g, r.is_there, r.index, takt_scalar_like(g, r.index, 0)));
    if (has_scores)
        takt_tfl_set(c, 1, takt_select(g, r.is_there, r.score, takt_scalar_like(g, r.score, 0)));
    takt_tfl_set(c, has_scores ? 2 : 1,
                 takt_reduce_over(g, &takt_op_reduce_sum, takt_tfl_cast(c, r.is_there, TAKT_I32),
                                  &first, 1, false));
    return c->status;
}

const takt_tflite_op takt_tflite_Suppress = {
    .names = {"NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"}, .adapt = adapt};
