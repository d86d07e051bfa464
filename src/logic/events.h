/* events.h - uncertain values: elements of tensors as variables of a decision diagram.
 *
 * An element of a tensor of truth values is a separate event, independent of all others; those of
 * one row of a softmax are mutually exclusive, and so are `x == t` for the values of x. Axes whose
 * size is a name (a batch) are *lifted*: a diagram stands for all of their elements at once, and
 * its circuit has those axes. A value that is true or false, but not known while the model is
 * built, is an event of probability 0 or 1. */
#ifndef TAKT_LOGIC_EVENTS_H
#define TAKT_LOGIC_EVENTS_H

#include "logic/diagram.h"
#include "logic/lower.h"

enum { TAKT_MOST_LIFTED = 4 };

/* A tensor whose elements are events. */
typedef struct takt_source {
    takt_id id;
    const takt_predicate *of; /* for the check of its range; NULL: none is needed */
    int rank;
    int lifted[TAKT_MAX_RANK];    /* of each axis: which lifted one it is, or -1 */
    size_t size[TAKT_MAX_RANK];   /* of each other axis */
    size_t stride[TAKT_MAX_RANK]; /* in units; 0 for lifted ones and the group */
    int group;                    /* the axis of mutually exclusive elements, or -1 */
    bool has_rest;                /* possibly none of them is true */
    bool is_crisp;                /* 0 or 1, always */
    bool is_constant;             /* one number for all: the weight of a rule */
    size_t units;                 /* variables */
    uint32_t values;              /* of each */
    uint32_t *variable;           /* [units]: its number + 1; 0: not yet made */
    const takt_tensor *known;     /* its elements, if they are known */
    bool is_bits;                 /* of `known`: the last axis is packed */
    struct takt_source *next;
} takt_source;

typedef struct takt_events {
    takt_arena *arena;
    takt_dds dds;
    takt_dim lifted[TAKT_MOST_LIFTED];
    int lifted_count;
    takt_source *sources;
    takt_source **of; /* each variable's, and which unit it is */
    uint32_t *unit;
    size_t capacity;
} takt_events;

/* A dimension with known sizes substituted. */
static inline takt_dim takt_events_dim(const takt_lower *l, takt_dim d)
{
    takt_dim out;
    if (takt_dim_is_number(d))
        return d;
    return takt_dim_resolve(l->g->dims, d, &out) == TAKT_OK ? out : d;
}
/* The lifted axis of a dimension that is a name; -1 after a complaint. */
int takt_events_lift(takt_lower *l, takt_events *e, takt_dim size);
/* The source of a predicate's tensor; NULL after a complaint. */
takt_source *takt_events_of(takt_lower *l, takt_events *e, const takt_predicate *p);
/* For bools with variables as axes; `group`: the axis of a variable with mutually exclusive values,
 * or -1. */
takt_source *takt_events_crisp(takt_lower *l, takt_events *e, const takt_labelled *v, int group);
/* A separate event for each of `units`, with that probability. */
takt_source *takt_events_weight(takt_lower *l, takt_events *e, double weight, size_t units);
/* The event of an element, given its index on every axis that is not lifted. */
takt_dd takt_events_at(takt_events *e, takt_source *s, const int64_t *index);
/* An error in the diagrams becomes the graph's failure; true if there was none. */
bool takt_events_check(takt_lower *l, takt_events *e);

/* Which lifted axes there are: bit i for axis i. */
typedef uint32_t takt_lifted_set;
/* A source with an axis for each of the set, then one of all its elements, the group last. */
takt_id takt_events_arranged(takt_lower *l, const takt_events *e, const takt_source *s,
                             takt_lifted_set set);
/* The lifted axes that the roots depend on: all of them, and those that all uncertain events
 * have. */
void takt_circuit_axes(const takt_events *e, const takt_dd *roots, size_t count, takt_arena *own,
                       takt_lifted_set *any, takt_lifted_set *shared);
/* Probabilities of functions, [lifted axes of the set..., count]: sums and products in the graph.
 * `nodes` receives the number of nodes. */
takt_id takt_circuit(takt_lower *l, const takt_events *e, const takt_dd *roots, size_t count,
                     takt_lifted_set set, size_t *nodes);

/* The rules of one stratum under `probability`. */
void takt_lower_probability(takt_lower *l, takt_predicate *const *members, size_t count);

#endif
