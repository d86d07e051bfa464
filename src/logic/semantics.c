/* semantics.c - the list of semantics, and functions that several share. */
#include "logic/semantics.h"

#include <string.h>

static const takt_semantics *const all[] = {
    &takt_semantics_boolean,     &takt_semantics_godel,       &takt_semantics_product,
    &takt_semantics_lukasiewicz, &takt_semantics_probability, &takt_semantics_viterbi,
    &takt_semantics_shortest,    &takt_semantics_count,
};

const takt_semantics *takt_semantics_at(size_t index)
{
    return index < sizeof all / sizeof *all ? all[index] : NULL;
}

const takt_semantics *takt_semantics_find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

takt_id takt_semantics_complement(takt_graph *g, takt_id x)
{
    return takt_sub(g, takt_scalar_like(g, x, 1), x);
}

/* As 1 - (1 - a) * (1 - b), which is within 0 to 1 after every rounding. */
takt_id takt_semantics_either(takt_graph *g, takt_id a, takt_id b)
{
    const takt_id rest =
        takt_mul(g, takt_semantics_complement(g, a), takt_semantics_complement(g, b));
    return takt_semantics_complement(g, rest);
}

takt_id takt_semantics_some(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_semantics_complement(
        g, takt_semantics_all(g, takt_semantics_complement(g, x), axes, count));
}

takt_id takt_semantics_all(takt_graph *g, takt_id x, const int64_t *axes, size_t count)
{
    return takt_reduce_over(g, &takt_op_reduce_prod, x, axes, count, false);
}
