/* formula.h - rules as trees: the form of the language's statements before they are lowered.
 *
 * A program is a set of predicates. Those without rules are tensors that exist already; those with
 * rules get their tensors when the program is lowered (lower.h). Everything lives in one arena.
 * `place` pointers belong to the builder of the tree: complaints return them. */
#ifndef TAKT_LOGIC_FORMULA_H
#define TAKT_LOGIC_FORMULA_H

#include "ir/graph.h"
#include "logic/domain.h"

typedef struct takt_semantics takt_semantics;
typedef struct takt_formula takt_formula;
typedef struct takt_predicate takt_predicate;
typedef struct takt_rule takt_rule;

/* The range of an argument or a variable. */
typedef struct takt_var_range {
    bool is_known;
    const takt_domain *domain; /* NULL: an axis of a tensor */
    takt_dim size;
} takt_var_range;

typedef enum takt_formula_kind {
    /* Formulas, which have a truth value. */
    TAKT_LOGIC_ATOM,    /* predicate(terms) */
    TAKT_LOGIC_COMPARE, /* a op b, terms */
    TAKT_LOGIC_AND,
    TAKT_LOGIC_OR,
    TAKT_LOGIC_NOT,
    TAKT_LOGIC_IMPLIES,
    TAKT_LOGIC_IFF,
    TAKT_LOGIC_EXISTS,   /* bound, [where b:] a */
    TAKT_LOGIC_FORALL,   /* the same */
    TAKT_LOGIC_AT_LEAST, /* the same, for `integer` or more of them */
    TAKT_LOGIC_TRUTH,    /* number, from 0 to 1 */
    /* Terms, which have a number. */
    TAKT_LOGIC_VARIABLE, /* variable */
    TAKT_LOGIC_INTEGER,
    TAKT_LOGIC_NAMED, /* text: an entry of the domain of its position; becomes an INTEGER */
    TAKT_LOGIC_DECIMAL,
    TAKT_LOGIC_ELEMENT, /* predicate[terms]: the value itself */
    TAKT_LOGIC_ARITH,   /* a op b */
    TAKT_LOGIC_FOLD,    /* op over bound [where b] of a: a formula for count, else a term */
    /* Both. */
    TAKT_LOGIC_CHOICE, /* a if b else c */
} takt_formula_kind;

/* `op` of COMPARE, ARITH and FOLD. */
typedef enum takt_logic_op {
    TAKT_LOGIC_EQ,
    TAKT_LOGIC_NE,
    TAKT_LOGIC_LT,
    TAKT_LOGIC_LE,
    TAKT_LOGIC_GT,
    TAKT_LOGIC_GE,
    TAKT_LOGIC_ADD,
    TAKT_LOGIC_SUB,
    TAKT_LOGIC_MUL,
    TAKT_LOGIC_DIV, /* rounded down */
    TAKT_LOGIC_MOD,
    TAKT_LOGIC_COUNT,
    TAKT_LOGIC_SUM,
    TAKT_LOGIC_MIN,
    TAKT_LOGIC_MAX,
    TAKT_LOGIC_MEAN,
    TAKT_LOGIC_PRODUCT,
} takt_logic_op;

struct takt_formula {
    uint8_t kind, op;
    const void *place;
    takt_formula *a, *b, *c;
    takt_predicate *predicate;
    takt_formula **terms;
    size_t term_count;
    int variable;
    int *bound; /* variables of a quantifier or fold */
    size_t bound_count;
    int64_t integer;
    takt_span text;
    double number;
    /* A quantifier as a mean of powers: its exponent, a number or a scalar tensor. */
    bool has_power;
    takt_predicate *power; /* NULL: `number` */
};

typedef struct takt_variable {
    const char *name;
    takt_var_range range;
    const void *place; /* the place that determined its range */
} takt_variable;

/* head(variables 0 .. arity - 1) = body; a constraint has no head variables. */
struct takt_rule {
    takt_predicate *head;
    const void *place;
    takt_variable *variables;
    size_t variable_count;
    takt_formula *body;
    bool has_weight; /* of a rule: and with this truth */
    double weight;
    double loss_weight; /* of a constraint */
    takt_rule *next;    /* of the same head */
    const char *joins;  /* the order in which its products are computed, for people */
    int line;           /* in its text */
};

/* How the value of a predicate is stored in its tensor. */
typedef enum takt_form {
    TAKT_FORM_SOFT,   /* f32 or i64: an element for every tuple */
    TAKT_FORM_BOOL,   /* bool, likewise */
    TAKT_FORM_BITS,   /* u64: the last axis packed, 64 to a word */
    TAKT_FORM_VALUE,  /* the last argument, a number, for every tuple of the others */
    TAKT_FORM_TUPLES, /* u32[capacity, arity]: sorted, then rows of all ones */
} takt_form;

/* The form of a Boolean relation according to the text. */
typedef enum takt_stated_form {
    TAKT_STATED_NONE, /* nothing: its size decides */
    TAKT_STATED_DENSE,
    TAKT_STATED_SPARSE,
} takt_stated_form;

struct takt_predicate {
    const char *name;
    const void *place;
    int arity;
    takt_var_range arg[TAKT_MAX_RANK];
    const takt_semantics *semantics; /* of its rules; NULL for tensors */
    takt_form form;
    takt_id value;    /* TAKT_NONE until it is lowered */
    takt_rule *rules; /* NULL: a tensor */
    /* Facts with weights, and inputs: the semantics that say what a missing fact is; or NULL. */
    const takt_semantics *missing;
    bool is_checked;  /* a tensor of floats known to be within 0 to 1 */
    int64_t rounds;   /* of a recursion; 0: until it settles */
    int64_t capacity; /* requested number of tuples; 0: not set */
    takt_stated_form stated;
    const uint32_t *facts; /* [fact_count][arity], ascending; NULL: not known while it is built */
    size_t fact_count;
    /* Under `probability` (events.h): a function of events for every tuple, except for lifted
     * arguments. */
    uint32_t *cells;
    size_t cell_count;
    bool is_closed;    /* quantifies over a lifted axis: has no functions that others could use */
    takt_id log_truth; /* of a constraint: its log-truth, if that is more accurate; or none */
    /* If a constraint begins with forall: the truth of every tuple, and its variables. */
    takt_id each;
    int each_count, each_var[TAKT_MAX_RANK]; /* 0: it is not known */
    /* Found by the analysis: */
    size_t index;
    int stratum;
    bool is_recursive;
    /* While a recursion is lowered: its value in the loop's body, and the new tuples in it. */
    takt_id inner, delta;
    takt_predicate *kept; /* its copy with the lifetime of the graph (keep.h); or NULL */
    takt_predicate *next;
};

typedef struct takt_program {
    takt_ctx *ctx;
    takt_arena *arena;
    takt_graph *graph;
    takt_dtype truth;                   /* of soft values: f32 or f64 */
    uint64_t dense_limit;               /* bytes up to which a relation is dense by default */
    struct takt_events **events;        /* the predicates of earlier groups, or NULL so far */
    takt_predicate *predicates, **last; /* in order of their declaration */
    size_t predicate_count;
    /* After an error; the sentence is in the context. */
    const void *place, *other; /* `other`: a second place, or NULL */
    const char *other_text;    /* the message for it */
} takt_program;

/* Fills in ranges, strata and recursions; TAKT_ERR_… with program->place after a mistake. */
TAKT_MUST_USE takt_status takt_program_analyse(takt_program *program);
/* Only ranges, and strata. */
TAKT_MUST_USE takt_status takt_program_ranges(takt_program *program);
TAKT_MUST_USE takt_status takt_program_strata(takt_program *program);

/* Children of a formula: a, b, c and terms; NULL where there is none. */
enum { TAKT_LOGIC_OWN = 3 };
static inline size_t takt_formula_children(const takt_formula *f)
{
    return TAKT_LOGIC_OWN + f->term_count;
}
static inline takt_formula *takt_formula_child(const takt_formula *f, size_t i)
{
    return i == 0 ? f->a : i == 1 ? f->b : i == 2 ? f->c : f->terms[i - TAKT_LOGIC_OWN];
}

#endif
