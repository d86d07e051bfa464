/* rule.h - domains, relations, rules and constraints of a model while it is built.
 *
 * Statements of rules are collected; they become tensors, all together, before the first other
 * statement, so that rules may use each other in any order.
 */
#ifndef TAKT_LANG_RULE_H
#define TAKT_LANG_RULE_H

#include "lang/elab.h"
#include "logic/lower.h"
#include "logic/relation.h"

/* A predicate by its name in a frame. */
typedef struct takt_known {
    const takt_frame *frame;
    const takt_symbol *name;
    takt_predicate *predicate;
    struct takt_known *next;
} takt_known;

typedef struct takt_pending {
    const takt_ast *at;
    struct takt_pending *next;
} takt_pending;

/* A constraint that was lowered. */
typedef struct takt_held {
    const char *name;
    const takt_ast *at;
    takt_id truth, loss; /* scalars; the loss is an f32, weighted */
    struct takt_held *next;
} takt_held;

typedef struct takt_rules {
    const takt_semantics *semantics; /* for rules that do not set their own */
    takt_dtype truth;                /* of soft values: f32 or f64 */
    takt_domain **domains;
    size_t domain_count;
    takt_known *known; /* newest first */
    takt_pending *pending, **last_pending;
    const takt_frame *pending_frame;
    takt_held *held, **last_held;
    struct takt_events *events; /* of rules under `probability` */
    takt_relations *relations;  /* the graph's */
} takt_rules;

/* The model's state, made at its first use; NULL if out of memory. */
takt_rules *takt_rules_of(takt_frame *f);
/* Reads the domains of the text; their names become dimensions. */
void takt_rules_domains(takt_frame *f);
const takt_domain *takt_rules_domain(takt_frame *f, const takt_ast *name); /* or a complaint */
bool takt_rules_is_open(const takt_frame *f, const takt_symbol *name); /* a domain that is i32 */
/* The semantics that a word names; NULL after a complaint. */
const takt_semantics *takt_rules_semantics(takt_frame *f, const takt_ast *at, const takt_value *v);
/* The meaning of an option without a value: `dense` or `sparse`. */
static inline takt_stated_form takt_rules_stated(const takt_ast *o)
{
    return o->name->text[0] == 'd' ? TAKT_STATED_DENSE : TAKT_STATED_SPARSE;
}
/* The value of capacity=; false after a complaint. */
bool takt_rules_capacity(takt_frame *f, const takt_ast *o, const takt_value *v, int64_t *to);
/* Bytes up to which a relation is dense by default. */
uint64_t takt_rules_dense_limit(const takt_frame *f);
/* A statement. */
void takt_eval_rule(takt_frame *f, const takt_ast *a);
/* Everything collected becomes tensors. */
void takt_rules_flush(takt_frame *f);
/* Outputs of constraints, and the loss. */
void takt_rules_outputs(takt_frame *f);
/* The default name for returning a relation; NULL if `a` names none. */
const char *takt_rules_output_name(takt_frame *f, const takt_ast *a);

/* ---- between the files ---- */

/* Relations: facts from a file or a list, an input, or a tensor. */
void takt_eval_relation(takt_frame *f, const takt_ast *a);
/* The predicate called `name`: of a rule or relation, or of a tensor of the frame; NULL if there is
 * none. */
takt_predicate *takt_rules_find(takt_frame *f, const takt_symbol *name);
takt_predicate *takt_rules_add(takt_frame *f, const takt_symbol *name, const takt_ast *at);
/* Lists a relation with the graph. */
void takt_rules_list(takt_frame *f, takt_predicate *p, takt_relation_kind kind, double weight);

/* A rule's head and options, and then its body; NULL and false after a complaint. All heads of a
 * group are begun before the first body is read. */
takt_rule *takt_rule_begin(takt_frame *f, const takt_ast *a);
bool takt_rule_finish(takt_frame *f, const takt_ast *a, takt_rule *rule);

/* The tree of a formula converted to the logic's, with the rule's variables. */
typedef struct takt_convert_rule {
    takt_frame *f;
    takt_rule *rule;
    size_t variable_capacity;
    struct takt_scope *scope; /* names that are variables here */
} takt_convert_rule;
takt_formula *takt_rule_formula(takt_convert_rule *c, const takt_ast *a);
takt_formula *takt_rule_term(takt_convert_rule *c, const takt_ast *a);
/* A new variable of the rule; -1 after an error. `name` NULL: an internal one. */
int takt_rule_variable(takt_convert_rule *c, const takt_ast *at, const takt_symbol *name);
takt_formula *takt_rule_node(takt_convert_rule *c, takt_formula_kind kind, const takt_ast *at);
/* predicate(arguments), and predicate[arguments] as a number. */
takt_formula *takt_rule_atom(takt_convert_rule *c, const takt_ast *a);
takt_formula *takt_rule_element(takt_convert_rule *c, const takt_ast *a);
/* The variable of that name, or -1. */
int takt_rule_find(const takt_convert_rule *c, const takt_symbol *name);

#endif
