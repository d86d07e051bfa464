/* godel.c - Goedel's logic: the lesser, the larger, and the residuum as implication. */
#include "logic/semantics.h"

static takt_id both(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_min, a, b);
}

static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_max, a, b);
}

/* The largest x with min(a, x) <= b: 1 where a <= b, else b. */
static takt_id implies(takt_graph *g, takt_id a, takt_id b)
{
    return takt_select(g, takt_binary(g, &takt_op_le, a, b), takt_scalar_like(g, b, 1), b);
}

/* False over an empty domain. */
static takt_id exists(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_binary(g, &takt_op_max,
                       takt_reduce_over(g, &takt_op_reduce_max, x, axes, count, false),
                       takt_scalar_like(g, x, 0));
}

static takt_id forall(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_binary(g, &takt_op_min,
                       takt_reduce_over(g, &takt_op_reduce_min, x, axes, count, false),
                       takt_scalar_like(g, x, 1));
}

const takt_semantics takt_semantics_godel = {
    .name = "godel",
    .summary = "the lesser for and, the larger for or",
    .dtype = TAKT_F32,
    .none = 0,
    .all = 1,
    .is_truth = true,
    .distributes = true,
    .semiring = TAKT_MAX_MIN,
    .both = both,
    .either = either,
    .not = takt_semantics_complement,
    .implies = implies,
    .exists = exists,
    .forall = forall,
    .loss = takt_semantics_complement,
};
