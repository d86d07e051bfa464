/* probability.c - exact probabilities of independent events.
 *
 * Connectives of probabilities alone would lose what events have in common: rules of these
 * semantics become decision diagrams (logic/ground.c). The functions here serve parts that share no
 * event. */
#include <float.h>

#include "logic/semantics.h"

/* -log truth; an impossible event counts as the smallest normal number. */
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
    .both = takt_mul,
    .either = takt_semantics_either,
    .not = takt_semantics_complement,
    .exists = takt_semantics_some,
    .forall = takt_semantics_all,
    .loss = loss,
};
