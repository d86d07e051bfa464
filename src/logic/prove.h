/* prove.h - why a tuple is in a relation: a lowest proof; and why it is not.
 *
 * The height of a fact is 0, that of a derived tuple one more than the highest premise of its
 * lowest derivation. Among lowest derivations the first counts: rules in order, the left side of
 * `or`, variables of `exists` ascending.
 */
#ifndef TAKT_LOGIC_PROVE_H
#define TAKT_LOGIC_PROVE_H

#include "logic/world.h"

typedef struct takt_proof_node {
    const takt_predicate *predicate;
    const takt_rule *rule; /* NULL: a fact */
    uint32_t tuple[TAKT_MAX_RANK];
    double value; /* of a rule that gives a number: its last argument */
    int height;
    int64_t *env;     /* values of the rule's variables; -1 if not shown */
    size_t *premises; /* nodes, in the order of the body */
    size_t premise_count;
} takt_proof_node;

/* Node 0 is the proved tuple; a tuple is one node, however often it is used. */
typedef struct takt_proof_tree {
    takt_arena arena;
    takt_proof_node *nodes;
    size_t count, capacity;
} takt_proof_tree;

/* The search considers at most this many uses of tuples in total. */
enum { TAKT_PROOF_EDGES = 1 << 22 };

/* `tuple` must hold in a boolean predicate. Release the tree even if this fails. */
TAKT_MUST_USE takt_status takt_prove(takt_world *w, const takt_predicate *p, const uint32_t *tuple,
                                     takt_proof_tree *tree);
/* Replays a proof: every node follows from its premises by its rule, heights decrease, and facts
 * are facts. Negated and aggregated literals are looked up in the relations. TAKT_E_RECURSION if
 * not. */
TAKT_MUST_USE takt_status takt_proof_verify(takt_world *w, const takt_proof_tree *tree);
void takt_proof_tree_release(takt_ctx *ctx, takt_proof_tree *tree);

/* ---- why not ---- */

/* One alternative of a rule, and the literal where it fails: those before it hold together for some
 * values, with it none do. NULL: all of them hold, by numbers that the run rounded differently. */
typedef struct takt_rule_refusal {
    const takt_rule *rule;
    const takt_formula *alternative, *literal;
    int64_t *env; /* the first values that get this far; -1: none */
} takt_rule_refusal;
typedef void takt_rule_refusal_fn(void *user, const takt_rule_refusal *refusal);
TAKT_MUST_USE takt_status takt_refute(takt_world *w, const takt_predicate *p, const uint32_t *tuple,
                                      takt_rule_refusal_fn *tell, void *user);

/* ---- as text ---- */

/* p(ann, bo); a VALUE predicate has `value` last. */
void takt_tuple_text(const takt_predicate *p, const uint32_t *tuple, double value, takt_text *text);
/* A formula as it is written; variables with a value in `env`, which may be NULL, as that value. */
void takt_formula_text(const takt_rule *rule, const takt_formula *f, const int64_t *env,
                       takt_text *text);
void takt_value_name(const takt_rule *rule, int variable, int64_t value, takt_text *text);

#endif
