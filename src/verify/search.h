/* search.h - proofs and counterexamples of a property: attacks, linear bounds, splits. */
#ifndef TAKT_VERIFY_SEARCH_H
#define TAKT_VERIFY_SEARCH_H

#include <takt/verify.h>

#include "os/pool.h"
#include "verify/goal.h"

/* Runs the model itself on x: returns whether it violates case `c`, with the outputs in `y`. */
typedef takt_status takt_confirm_fn(void *user, const takt_case *c, const double *x, double *y,
                                    bool *breaks);

typedef enum takt_method { TAKT_BY_IBP, TAKT_BY_CROWN, TAKT_BY_ALPHA, TAKT_BY_SEARCH } takt_method;

typedef struct takt_search_options {
    takt_method method;
    double deadline_s; /* seconds from now */
    takt_pool *pool;   /* may be NULL */
    bool keeps_slopes; /* of proved parts, where relus are split: for a certificate */
    bool (*is_cancelled)(void *user);
    takt_confirm_fn *confirm;
    void *user;
} takt_search_options;

/* Splits of a proof: node 0 is the whole box of its group of cases. */
typedef struct takt_split {
    uint32_t relu;   /* the net's node whose element is split at 0; UINT32_MAX: an input is */
    uint32_t input;  /* element; UINT32_MAX: a leaf */
    uint32_t first;  /* the lower half; the upper one follows it */
    uint32_t parent; /* UINT32_MAX: none */
    double at;
    const double *beta;     /* of a proof by relus: one per split on the way here, from the root */
    const uint16_t *slopes; /* of all relus, in steps of 1 / TAKT_ALPHA_GRID */
    size_t beta_count;
    const uint32_t *proved; /* cases that hold on this box, and were open before */
    size_t proved_count;
} takt_split;

/* Cases that share a box, and the tree of its splits. */
typedef struct takt_group {
    const takt_case *box;
    uint32_t *cases;
    size_t count;
    takt_split *splits;
    size_t split_count, split_capacity;
    uint32_t *roots; /* of trees; each case is proved by one of them */
    size_t root_count;
} takt_group;

typedef struct takt_search {
    takt_proof verdict;
    double bound;          /* the worst of the best bounds; above 0 if all is proved */
    double *x, *y;         /* the counterexample, if it is violated */
    size_t case_index;     /* the case that it violates */
    size_t regions;        /* boxes that were bounded */
    double *lower, *upper; /* of the outputs, over the first box */
    const char *layer;     /* the layer that loses most, if the result is unknown */
    bool is_empty;         /* no case has a point in its box */
    bool is_short;         /* memory ran out before the end: the bound is what it had */
    takt_group *groups;
    size_t group_count;
    takt_arena arena;
} takt_search;

/* `p` has the boxes to prove, which contain the `given` ones; attacks stay in these. Fails for lack
 * of memory only if there is no bound yet. */
TAKT_MUST_USE takt_status takt_search_run(const takt_net *net, const takt_property *p,
                                          const takt_property *given, const takt_search_options *o,
                                          takt_search *s);
/* Groups of the cases that have a point, for takt_search_run. */
TAKT_MUST_USE takt_status takt_search_groups(takt_search *s, const takt_property *p);
void takt_search_deinit(takt_search *s, takt_ctx *ctx);

/* ---- attack ---- */

typedef struct takt_attack {
    takt_region *region;
    const takt_property *property;
    double *x, *y, *best; /* elements of inputs and outputs */
    uint64_t seed;
} takt_attack;

/* Searches for a point of the box of case `c` that violates it in the net: gradient steps from
 * `starts` points, corners among them. True if x holds one. */
bool takt_attack_case(takt_attack *a, const takt_case *c, int starts, int steps);
/* Outputs of the net at a->x, in f64. */
void takt_attack_outputs(takt_attack *a);

#endif
