/* viterbi.c - the most probable proof: its factors multiplied, the best of several. */
#include "logic/semantics.h"

static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_max, a, b);
}

static takt_id exists(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_binary(g, &takt_op_max,
                       takt_reduce_over(g, &takt_op_reduce_max, x, axes, count, false),
                       takt_scalar_like(g, x, 0));
}

const takt_semantics takt_semantics_viterbi = {
    .name = "viterbi",
    .summary = "the most probable proof: products, and the best of them",
    .dtype = TAKT_F32,
    .none = 0,
    .all = 1,
    .is_truth = true,
    .distributes = true,
    .semiring = TAKT_MAX_MUL,
    .both = takt_mul,
    .either = either,
    .exists = exists,
    .forall = takt_semantics_all,
    .loss = takt_semantics_complement,
};
