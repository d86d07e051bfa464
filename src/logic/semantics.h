/* semantics.h - what connectives mean: one file of semantics/ each.
 *
 * `exists` folds `or`, and `forall` folds `and`, over all values of a variable; so De Morgan's laws
 * hold wherever there is a `not`.
 */
#ifndef TAKT_LOGIC_SEMANTICS_H
#define TAKT_LOGIC_SEMANTICS_H

#include "op/util/semiring.h"

typedef struct takt_semantics takt_semantics;
struct takt_semantics {
    const char *name, *summary;
    takt_dtype dtype;
    double none, all; /* false and true */
    bool is_truth;    /* values are within 0 to 1 */
    bool distributes; /* exists y: a and b(y) is a and exists y: b(y) */
    int semiring;     /* of exists over and: a takt_semiring, or -1: sums of products */
    takt_id (*both)(takt_graph *g, takt_id a, takt_id b);
    takt_id (*either)(takt_graph *g, takt_id a, takt_id b);
    /* NULL where there is no such connective. */
    takt_id (*not )(takt_graph *g, takt_id a);
    takt_id (*implies)(takt_graph *g, takt_id a, takt_id b);
    takt_id (*exists)(takt_graph *g, takt_id x, const int64_t *axes, size_t count);
    takt_id (*forall)(takt_graph *g, takt_id x, const int64_t *axes, size_t count);
    /* The loss of a constraint with that truth, an f32 scalar. */
    takt_id (*loss)(takt_graph *g, takt_id truth);
};

extern const takt_semantics takt_semantics_boolean, takt_semantics_godel, takt_semantics_product,
    takt_semantics_lukasiewicz, takt_semantics_probability, takt_semantics_viterbi,
    takt_semantics_shortest, takt_semantics_count;

/* All of them, in the order of the documentation; NULL past the last. */
const takt_semantics *takt_semantics_at(size_t index);
const takt_semantics *takt_semantics_find(const char *name);

/* 1 - x, and 1 - truth as a loss, which several share. */
takt_id takt_semantics_complement(takt_graph *g, takt_id x);
/* Either of two independent events: a + b - a * b, its fold, and that of the product. */
takt_id takt_semantics_either(takt_graph *g, takt_id a, takt_id b);
takt_id takt_semantics_some(takt_graph *g, takt_id x, const int64_t *axes, size_t count);
takt_id takt_semantics_all(takt_graph *g, takt_id x, const int64_t *axes, size_t count);

#endif
