/* twins.h - steps that become another size as an earlier step does.
 *
 * The layers of a network repeat: their steps compute the same from other values. A step whose
 * group has the same operations, attributes, types (as names) and surroundings as that of an
 * earlier one, its leader, is compiled to the same facts at every size; only addresses, buffers and
 * node numbers are its own. Then the facts are copied from the leader instead of being worked out
 * again. Words in which the two differ are recorded once; if one of these changes in the leader, or
 * a pointer into its memory appears elsewhere, the step is compiled after all. */
#ifndef TAKT_PLAN_TWINS_H
#define TAKT_PLAN_TWINS_H

#include "plan/answers.h"
#include "plan/builder.h"

typedef struct takt_twins takt_twins;

/* Room for what is found later, in the builder's scratch; NULL: out of memory. */
takt_twins *takt_twins_create(takt_builder *b, const takt_answers *answers);
/* The graph with names of sizes, and bytes of scratch that each step may have. */
typedef struct takt_named {
    const takt_graph *graph;
    const size_t *scratch;
} takt_named;
/* Finds them. Every step has been compiled by replay; `after`: per step, answers up to its end. */
void takt_twins_find(takt_twins *t, takt_builder *b, const takt_named *of, const size_t *after);
/* Fills in step `index` of the plan, if it has a leader that allows it. Steps before it have the
 * current sizes. */
bool takt_twins_copy(takt_twins *t, const takt_builder *b, size_t index);
/* Before steps get other sizes. */
void takt_twins_begin(takt_twins *t);
/* How many steps have a leader. */
size_t takt_twins_count(const takt_twins *t);

#endif
