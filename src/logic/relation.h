/* relation.h - the declarations of a text with rules, kept with its graph, so that programs and
 * people can read its tensors as relations. */
#ifndef TAKT_LOGIC_RELATION_H
#define TAKT_LOGIC_RELATION_H

#include "logic/formula.h"
#include "logic/semantics.h"

typedef enum takt_relation_kind {
    TAKT_KIND_FACTS,  /* known while the model is built */
    TAKT_KIND_INPUT,  /* an input of the model */
    TAKT_KIND_TENSOR, /* computed by layers and ops */
    TAKT_KIND_RULE,
    TAKT_KIND_CONSTRAINT,
} takt_relation_kind;

typedef struct takt_relation_info {
    const char *name;
    takt_relation_kind kind;
    int arity;
    takt_var_range arg[TAKT_MAX_RANK];
    takt_form form;
    const char *semantics; /* of rules and constraints, else NULL */
    int stratum;           /* of rules, else -1 */
    bool is_recursive;
    size_t rule_count;
    const char *joins; /* the order of its products, or "" */
    double weight;     /* of a constraint */
    takt_id each;      /* of a constraint: truth of its tuples */
    int each_arity;    /* 0: they are not known */
    takt_var_range each_arg[TAKT_MAX_RANK];
    takt_type type;                  /* of its tensor */
    const takt_predicate *predicate; /* with its rules (keep.h) */
    struct takt_relation_info *next;
} takt_relation_info;

/* Lives in its graph's arena, as the domains do. */
typedef struct takt_relations {
    takt_relation_info *first, **last;
    size_t count;
    takt_predicate *kept; /* all predicates that rules use, newest first; `index` counts them from
                           * 0 */
    size_t kept_count;
} takt_relations;

/* NULL if there is none. */
const takt_relation_info *takt_relation_find(const takt_graph *g, const char *name);
const char *takt_form_name(takt_form form);

/* The maximum size in bytes of a dense relation, unless the caller or the text says otherwise. */
#define TAKT_DENSE_LIMIT ((uint64_t)256 << 20)

/* Whether dense rules may compute with the numbers of a domain, which take an i64 each. */
static inline bool takt_numbers_fit(uint64_t size, uint64_t dense_limit)
{
    return size <= dense_limit / sizeof(int64_t);
}

#endif
