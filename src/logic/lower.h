/* lower.h - rules to nodes of a graph.
 *
 * Every subformula becomes a tensor with an axis for each of its free variables. Truth under
 * `boolean` exists in two forms that are made from each other when needed: bools, and bits of words
 * along the last axis. A conjunction below `exists` becomes products over a semiring, so that no
 * tensor has an axis for every variable.
 */
#ifndef TAKT_LOGIC_LOWER_H
#define TAKT_LOGIC_LOWER_H

#include "logic/formula.h"
#include "logic/semantics.h"

/* A tensor whose axes are variables of the rule, in any order. */
typedef struct takt_labelled {
    takt_id id;   /* TAKT_NONE: there are only bits */
    takt_id bits; /* TAKT_NONE: none were made; the last axis is packed */
    int rank;
    int var[TAKT_MAX_RANK];
} takt_labelled;

typedef struct takt_lower {
    takt_program *program;
    takt_graph *g; /* where nodes go: the program's, or a loop's body */
    bool is_inner; /* in a body: predicates are read from their `inner` */
    const takt_rule *rule;
    const takt_semantics *semantics;
    const void *place;              /* of the formula that is being lowered */
    const takt_predicate *delta_of; /* the occurrence of it that is read from `delta`: */
    int delta_index, delta_seen;    /* which one, and how many have been met */
    takt_text *joins;               /* records which products are made; NULL: not needed */
} takt_lower;

/* Lowers all rules of the program; afterwards every predicate has a value. After an error
 * program->place says where. */
TAKT_MUST_USE takt_status takt_program_lower(takt_program *program);

/* ---- between the files; all are sticky like the graph they build ---- */

takt_labelled takt_lower_formula(takt_lower *l, const takt_formula *f);
/* The same under `boolean`. */
takt_labelled takt_lower_crisp(takt_lower *l, const takt_formula *f);
takt_labelled takt_lower_term(takt_lower *l, const takt_formula *f);
takt_labelled takt_lower_atom(takt_lower *l, const takt_formula *f);
takt_labelled takt_lower_element(takt_lower *l, const takt_formula *f);
takt_labelled takt_lower_exists(takt_lower *l, const takt_formula *f);
takt_labelled takt_lower_forall(takt_lower *l, const takt_formula *f);
/* exists or forall as a mean of powers. */
takt_labelled takt_lower_power(takt_lower *l, const takt_formula *f);
takt_labelled takt_lower_at_least(takt_lower *l, const takt_formula *f);
takt_labelled takt_lower_fold(takt_lower *l, const takt_formula *f);
/* A comparison: bools. */
takt_labelled takt_lower_compare(takt_lower *l, const takt_formula *f);
/* One rule's body, with the axes of its head. */
takt_id takt_lower_rule(takt_lower *l, const takt_rule *rule);
/* All rules of a predicate that is not recursive, or of one stratum that is. */
void takt_lower_recursion(takt_lower *l, takt_predicate *const *members, size_t count);
/* Which relations are sets of tuples; and the rules of one stratum of them. */
TAKT_MUST_USE takt_status takt_program_forms(takt_program *program);
void takt_lower_sparse(takt_lower *l, takt_predicate *const *members, size_t count);
/* A tensor of p's truth values, with a check that they are within 0 to 1 unless that is known. */
takt_id takt_lower_checked(takt_lower *l, const takt_predicate *p, takt_id x);
/* The rules of one predicate, joined by or, in the form of the predicate. */
takt_id takt_lower_rules(takt_lower *l, const takt_predicate *p);
/* Bools of a Boolean predicate's form, and back. */
takt_id takt_lower_stored(takt_lower *l, const takt_predicate *p, takt_labelled v);

/* Records the failure at the current place; returns an empty value. */
takt_labelled takt_lower_fail(takt_lower *l, takt_error_id id, const char *format, ...)
    TAKT_PRINTF(3, 4);

/* ---- labelled tensors (labelled.c) ---- */

static inline takt_labelled takt_labelled_none(void)
{
    return (takt_labelled){TAKT_NONE, TAKT_NONE, 0, {0}};
}
static inline bool takt_labelled_is_good(const takt_labelled *v)
{
    return v->id != TAKT_NONE || v->bits != TAKT_NONE;
}
static inline takt_labelled takt_labelled_scalar(takt_id id)
{
    return (takt_labelled){id, TAKT_NONE, 0, {0}};
}
takt_dim takt_lower_size(const takt_lower *l, int variable);
/* The axis of a variable, or -1. */
int takt_labelled_axis(const takt_labelled *v, int variable);
/* Elements, unpacked from the bits if necessary; and bits, packed from bools (rank above 0). */
takt_id takt_labelled_elements(const takt_lower *l, const takt_labelled *v);
takt_id takt_labelled_bits(const takt_lower *l, const takt_labelled *v);
/* The variables of both, those of `a` first; false after an error: there are too many. */
bool takt_labelled_union(takt_lower *l, const takt_labelled *a, const takt_labelled *b,
                         takt_labelled *out);
/* Elements with the axes `vars`, which have all of v's: of size 1 where v has none. */
takt_id takt_labelled_arrange(const takt_lower *l, const takt_labelled *v, const int *vars,
                              int rank);
/* With every axis in its full size. */
takt_id takt_labelled_spread(const takt_lower *l, const takt_labelled *v, const int *vars,
                             int rank);
/* op of two, element-wise; both have the same element type. */
typedef takt_id takt_pair_fn(takt_graph *g, takt_id a, takt_id b);
takt_labelled takt_labelled_pair(takt_lower *l, const takt_labelled *a, const takt_labelled *b,
                                 takt_pair_fn *op);
/* and, or, not of the current semantics; Boolean values stay packed bits where they are. */
takt_labelled takt_labelled_both(takt_lower *l, const takt_labelled *a, const takt_labelled *b);
takt_labelled takt_labelled_either(takt_lower *l, const takt_labelled *a, const takt_labelled *b);
takt_labelled takt_labelled_not(takt_lower *l, const takt_labelled *v);
/* Bools as values of the current semantics. */
takt_labelled takt_labelled_from_bool(takt_lower *l, takt_labelled v);
/* Eliminates the variables of `bound` that it has, by exists. */
takt_labelled takt_labelled_exists(takt_lower *l, const takt_labelled *v, const int *bound,
                                   size_t count);
/* The axes of v for `bound`, all of which it has; and v's other variables, in order. */
size_t takt_labelled_axes(const takt_labelled *v, const int *bound, size_t count, int64_t *axes,
                          takt_labelled *rest);
/* The element type of values under the current semantics. */
static inline takt_dtype takt_lower_dtype(const takt_lower *l)
{
    return l->semantics->dtype == TAKT_F32 ? l->program->truth : l->semantics->dtype;
}
/* A constant of that type. */
takt_id takt_lower_constant(const takt_lower *l, double value);

#endif
