/* ground.h - rules under `probability`: their ground proofs as decision diagrams.
 *
 * Every tuple of a head, except for its lifted arguments, gets a function of events: true where the
 * rules derive the tuple. Rules that use themselves start from false and are applied until no
 * function changes, so cycles need no special care. */
#ifndef TAKT_LOGIC_GROUND_H
#define TAKT_LOGIC_GROUND_H

#include "logic/events.h"

enum { TAKT_GROUND_VARIABLES = 256, TAKT_GROUND_PARTS = 64 };

/* A formula with data that is computed once and used for every tuple. */
typedef struct takt_ground_plan takt_ground_plan;
struct takt_ground_plan {
    const takt_formula *f;
    takt_ground_plan *a, *b, *c;
    takt_predicate *cells; /* of an atom: a relation with functions */
    takt_source *source;   /* of an atom or comparison: a tensor */
    const takt_formula **terms;
    int term_count;
    takt_dd *counts; /* of at_least */
    /* For exists: the parts of its conjunction, and how many bound variables each waits for. */
    takt_ground_plan *part[TAKT_GROUND_PARTS];
    size_t waits[TAKT_GROUND_PARTS];
    size_t part_count;
};

typedef struct takt_grounding {
    takt_lower *l;
    takt_events *e;
    int64_t env[TAKT_GROUND_VARIABLES];
    bool is_lifted[TAKT_GROUND_VARIABLES];
} takt_grounding;

/* A quantifier over lifted axes around the rest of a rule. */
typedef struct takt_closing {
    takt_lifted_set axes;
    bool is_forall;
} takt_closing;

static inline takt_dim takt_ground_size(const takt_grounding *g, int variable)
{
    return takt_events_dim(g->l, takt_lower_size(g->l, variable));
}
/* Zeroed memory that lives until the model is built; NULL after a complaint. */
void *takt_ground_room(const takt_grounding *g, size_t count, size_t size);
/* Reports an error at the current place; returns NULL. `hint` may be NULL. */
takt_ground_plan *takt_ground_refuse(const takt_grounding *g, takt_error_id id, const char *what,
                                     const char *hint);

/* NULL after a complaint. */
takt_ground_plan *takt_ground_compile(takt_grounding *g, const takt_formula *f);
/* A term, and a comparison of terms, whose values follow from the variables. */
int64_t takt_ground_term(const takt_grounding *g, const takt_formula *t);
bool takt_ground_compare(const takt_grounding *g, const takt_formula *f);
/* The function of a formula where the variables have the values of `env`. */
takt_dd takt_ground(takt_grounding *g, const takt_ground_plan *p);
/* The functions of all members of a stratum; false after a complaint. */
bool takt_ground_stratum(takt_lower *l, takt_events *e, takt_predicate *const *members,
                         size_t count, takt_closing *close);
/* p with the functions of q, which are created if there are none yet. */
takt_ground_plan *takt_ground_needed(takt_grounding *g, takt_predicate *q, takt_ground_plan *p);

#endif
