/* product.c - the product for and, its dual for or, Reichenbach's implication. */
#include "logic/semantics.h"

static takt_id both(takt_graph *g, takt_id a, takt_id b)
{
    return takt_mul(g, a, b);
}

/* a + b - a * b as 1 - (1 - a) * (1 - b), which is within 0 to 1 after every rounding. */
static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    const takt_id rest =
        takt_mul(g, takt_semantics_complement(g, a), takt_semantics_complement(g, b));
    return takt_semantics_complement(g, rest);
}

/* not a or b = 1 - a * (1 - b). */
static takt_id implies(takt_graph *g, takt_id a, takt_id b)
{
    return takt_semantics_complement(g, takt_mul(g, a, takt_semantics_complement(g, b)));
}

static takt_id exists(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    const takt_id rest = takt_semantics_complement(g, x);
    return takt_semantics_complement(
        g, takt_reduce_over(g, &takt_op_reduce_prod, rest, axes, count, false));
}

static takt_id forall(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_reduce_over(g, &takt_op_reduce_prod, x, axes, count, false);
}

const takt_semantics takt_semantics_product = {
    .name = "product",
    .summary = "the product for and, a + b - a * b for or",
    .dtype = TAKT_F32,
    .none = 0,
    .all = 1,
    .is_truth = true,
    .semiring = TAKT_NOISY_OR,
    .both = both,
    .either = either,
    .not = takt_semantics_complement,
    .implies = implies,
    .exists = exists,
    .forall = forall,
    .loss = takt_semantics_complement,
};
