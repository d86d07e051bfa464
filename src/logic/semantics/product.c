/* product.c - the product for and, its dual for or, Reichenbach's implication. */
#include "logic/semantics.h"

/* not a or b = 1 - a * (1 - b). */
static takt_id implies(takt_graph *g, takt_id a, takt_id b)
{
    return takt_semantics_complement(g, takt_mul(g, a, takt_semantics_complement(g, b)));
}

const takt_semantics takt_semantics_product = {
    .name = "product",
    .summary = "the product for and, a + b - a * b for or",
    .dtype = TAKT_F32,
    .none = 0,
    .all = 1,
    .is_truth = true,
    .semiring = TAKT_NOISY_OR,
    .both = takt_mul,
    .either = takt_semantics_either,
    .not = takt_semantics_complement,
    .implies = implies,
    .exists = takt_semantics_some,
    .forall = takt_semantics_all,
    .loss = takt_semantics_complement,
};
