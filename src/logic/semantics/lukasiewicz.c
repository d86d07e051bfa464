/* lukasiewicz.c - bounded sums. */
#include "logic/semantics.h"

static takt_id at_least_none(takt_graph *g, takt_id x)
{
    return takt_binary(g, &takt_op_max, x, takt_scalar_like(g, x, 0));
}

static takt_id at_most_all(takt_graph *g, takt_id x)
{
    return takt_binary(g, &takt_op_min, x, takt_scalar_like(g, x, 1));
}

static takt_id both(takt_graph *g, takt_id a, takt_id b)
{
    return at_least_none(g, takt_add_scalar(g, takt_add(g, a, b), -1));
}

static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    return at_most_all(g, takt_add(g, a, b));
}

static takt_id implies(takt_graph *g, takt_id a, takt_id b)
{
    return at_most_all(g, takt_add(g, takt_semantics_complement(g, a), b));
}

static takt_id exists(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return at_most_all(g, takt_reduce_over(g, &takt_op_reduce_sum, x, axes, count, false));
}

static takt_id forall(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_semantics_complement(g, exists(g, takt_semantics_complement(g, x), axes, count));
}

const takt_semantics takt_semantics_lukasiewicz = {
    .name = "lukasiewicz",
    .summary = "max(0, a + b - 1) for and, min(1, a + b) for or",
    .dtype = TAKT_F32,
    .none = 0,
    .all = 1,
    .is_truth = true,
    .semiring = TAKT_LUKASIEWICZ,
    .both = both,
    .either = either,
    .not = takt_semantics_complement,
    .implies = implies,
    .exists = exists,
    .forall = forall,
    .loss = takt_semantics_complement,
};
