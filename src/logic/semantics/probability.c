/* probability.c - exact probabilities of independent events.
 *
 * Connectives of probabilities alone would lose what events have in common: rules of these
 * semantics become decision diagrams (logic/ground.c). What is here serves parts that share no
 * event.
 */
#include <float.h>

#include "logic/semantics.h"

static takt_id both(takt_graph *g, takt_id a, takt_id b)
{
    return takt_mul(g, a, b);
}

static takt_id either(takt_graph *g, takt_id a, takt_id b)
{
    const takt_id rest =
        takt_mul(g, takt_semantics_complement(g, a), takt_semantics_complement(g, b));
    return takt_semantics_complement(g, rest);
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

/* -log truth; of what is impossible that of the smallest normal number. */
static takt_id loss(takt_graph *g, takt_id truth)
{
    const takt_id least = takt_scalar_like(g, truth, FLT_MIN);
    return takt_neg(g, takt_unary(g, &takt_op_log, takt_binary(g, &takt_op_max, truth, least)));
}

const takt_semantics takt_semantics_probability = {
    .name = "probability",
    .summary = "exact probabilities of independent events",
    .dtype = TAKT_F32,
    .none = 0,
    .all = 1,
    .is_truth = true,
    .semiring = TAKT_NOISY_OR,
    .both = both,
    .either = either,
    .not = takt_semantics_complement,
    .exists = exists,
    .forall = forall,
    .loss = loss,
};
