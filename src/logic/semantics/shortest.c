/* shortest.c - lengths: those along a path are added, and the least of several is taken. */
#include <math.h>

#include "logic/semantics.h"

static takt_id both(takt_graph *g, takt_id a, takt_id b)
{
    return takt_add(g, a, b);
}

static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_min, a, b);
}

static takt_id exists(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_reduce_over(g, &takt_op_reduce_min, x, axes, count, false);
}

const takt_semantics takt_semantics_shortest = {
    .name = "shortest",
    .summary = "lengths: sums along a proof, and the least of them",
    .dtype = TAKT_F32,
    .none = INFINITY,
    .all = 0,
    .distributes = true,
    .semiring = TAKT_MIN_ADD,
    .both = both,
    .either = either,
    .exists = exists,
};
