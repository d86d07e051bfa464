/* boolean.c - true and false, exactly. */
#include "logic/semantics.h"

static takt_id both(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_and, a, b);
}

static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_or, a, b);
}

static takt_id complement(takt_graph *g, takt_id a)
{
    return takt_unary(g, &takt_op_not, a);
}

static takt_id implies(takt_graph *g, takt_id a, takt_id b)
{
    return either(g, complement(g, a), b);
}

static takt_id exists(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_reduce_over(g, &takt_op_reduce_max, x, axes, count, false);
}

static takt_id forall(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_reduce_over(g, &takt_op_reduce_min, x, axes, count, false);
}

const takt_semantics takt_semantics_boolean = {
    .name = "boolean",
    .summary = "true and false, exactly",
    .dtype = TAKT_BOOL,
    .none = 0,
    .all = 1,
    .is_truth = true,
    .distributes = true,
    .semiring = TAKT_SEMIRING_OR_AND,
    .both = both,
    .either = either,
    .not = complement,
    .implies = implies,
    .exists = exists,
    .forall = forall,
    .loss = takt_semantics_complement,
};
