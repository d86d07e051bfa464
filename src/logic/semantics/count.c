/* count.c - the number of proofs; i64, which wraps. */
#include "logic/semantics.h"

static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    return takt_add(g, a, b);
}

static takt_id exists(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_reduce_over(g, &takt_op_reduce_sum, x, axes, count, false);
}

const takt_semantics takt_semantics_count = {
    .name = "count",
    .summary = "the number of proofs",
    .dtype = TAKT_I64,
    .none = 0,
    .all = 1,
    .distributes = true,
    .semiring = -1,
    .both = takt_mul,
    .either = either,
    .exists = exists,
};
