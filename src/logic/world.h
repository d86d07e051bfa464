/* world.h - the relations of a model after a run: which tuples they hold, and the values of terms.
 *
 * Formulas are those of kept rules (keep.h) under `boolean`. `env` has a value for every variable
 * of the rule that is bound so far. */
#ifndef TAKT_LOGIC_WORLD_H
#define TAKT_LOGIC_WORLD_H

#include <takt/tensor.h>

#include "logic/relation.h"

/* Rows of a relation with their columns in another order, ascending. */
typedef struct takt_world_index {
    int order[TAKT_MAX_RANK]; /* column i is argument order[i] */
    uint32_t *rows;
    struct takt_world_index *next;
} takt_world_index;

typedef struct takt_world_set {
    const takt_predicate *predicate;
    const takt_tensor_view *view; /* NULL: not part of the run */
    bool has_rows;
    size_t count;
    takt_world_index *indexes; /* the first is in the order of the arguments */
} takt_world_set;

typedef struct takt_world {
    takt_ctx *ctx;
    takt_arena arena;
    takt_world_set *sets; /* by predicate->index */
    size_t set_count;
    uint32_t *counts;   /* for sorting */
    uint64_t steps;     /* values tried; more than TAKT_WORLD_STEPS are refused */
    takt_status status; /* sticky */
} takt_world;

#define TAKT_WORLD_STEPS (UINT64_C(1) << 30)

void takt_world_init(takt_world *w, takt_ctx *ctx, const takt_relations *all);
void takt_world_deinit(takt_world *w);
/* The maximum number of variables in one of its rules. */
size_t takt_world_variables(const takt_world *w);

typedef struct takt_world_value {
    bool is_float;
    int64_t integer;
    double number;
} takt_world_value;
double takt_world_number(takt_world_value v);

/* Whether a tuple is in a relation. */
bool takt_world_has(takt_world *w, const takt_predicate *p, const uint32_t *tuple);
/* The arguments of an atom; false if one is outside its domain, so that it cannot hold. */
bool takt_world_arguments(const takt_formula *atom, const int64_t *env,
                          uint32_t tuple[static TAKT_MAX_RANK]);
bool takt_world_holds(takt_world *w, const takt_rule *rule, const takt_formula *f, int64_t *env);
takt_world_value takt_world_term(takt_world *w, const takt_rule *rule, const takt_formula *t,
                                 int64_t *env);
bool takt_world_compare(int op, takt_world_value a, takt_world_value b);
/* The number of values of a variable. */
int64_t takt_world_size(takt_world *w, const takt_rule *rule, int variable);

/* Visits the values of `bound`, ascending, the first variable slowest, for which all parts hold. A
 * visit returns false to stop. */
typedef struct takt_world_walk takt_world_walk;
typedef bool takt_world_visit(takt_world_walk *walk);
enum { TAKT_WORLD_PARTS = 64 };
struct takt_world_walk {
    takt_world *w;
    const takt_rule *rule;
    int64_t *env;
    const int *bound;
    size_t bound_count;
    const takt_formula *part[TAKT_WORLD_PARTS];
    size_t waits[TAKT_WORLD_PARTS]; /* how many of `bound` a part needs */
    size_t part_count;
    takt_world_visit *visit;
    void *user;
};
/* Adds the parts of a conjunction; `reserve` more will follow. If there is no room, parts stay
 * together. */
void takt_world_part(takt_world_walk *walk, const takt_formula *f, size_t reserve);
/* False: a visit stopped it, or something failed. */
bool takt_world_each(takt_world_walk *walk);
bool takt_formula_has(const takt_formula *f, int variable);

#endif
