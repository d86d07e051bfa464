/* grow.h - caches that become state (grow.c): which (grow_find.c), and those in branches
 * (grow_gate.c). */
#ifndef TAKT_PASS_GROW_H
#define TAKT_PASS_GROW_H

#include "pass/copier.h"

/* Where an If chooses between a branch that appends rows to a cache and one that has only the new
 * rows, each gets all samples or none of them, and their results are put together. */
typedef struct takt_gate {
    takt_id all, other; /* the cache with new rows, and those of the branch without a cache */
    bool is_last;       /* `all` follows `other` where they are put together */
    takt_id choice;     /* the condition */
    bool is_inverted;   /* true where there is no cache */
} takt_gate;

typedef struct takt_growing {
    takt_id past, all; /* the input, and the concatenation */
    takt_id output;    /* `all`, in the axis order of `past` */
    size_t input;
    int axis;                    /* of the concatenation */
    int64_t perm[TAKT_MAX_RANK]; /* from its axis order to that of `past` */
    bool is_gated;               /* in a branch */
    takt_gate gate;
    takt_id slot, view, next; /* in the new graph: the state, its used part, its next value */
} takt_growing;

typedef struct takt_growth {
    takt_copier c;
    int64_t room;
    takt_growing *list;
    size_t count;
    size_t name; /* of the dimension: rows in use */
    takt_dim rows;
    takt_id counter; /* in the new graph; TAKT_NONE: given by other inputs */
    takt_id *stack;  /* room for all nodes */
} takt_growth;

/* Lists the caches of the graph; fails if there are none. */
TAKT_MUST_USE takt_status takt_growth_find(takt_growth *w);
/* Whether it is a cache's input or output. */
bool takt_growth_has(const takt_growth *w, takt_id id);
/* Which input it is; the number of inputs if it is none. */
size_t takt_growth_input(const takt_graph *g, takt_id id);

/* Whether `output` is an input of the model with rows appended, or those rows alone. */
bool takt_gate_match(const takt_graph *g, takt_id output, takt_gate *gate);
/* The elements of both, one of which has none, as a tensor of that type. */
takt_id takt_gate_join(takt_graph *g, takt_id first, takt_id second, const takt_type *type);
/* The first elements of x, as a tensor of that type. */
takt_id takt_gate_cut(takt_graph *g, takt_id x, const takt_type *type);
/* x where there is a cache, otherwise 0; both are scalars. */
takt_id takt_gate_select(takt_graph *g, const takt_gate *gate, takt_id choice, takt_id x);

#endif
