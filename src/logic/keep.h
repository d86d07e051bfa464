/* keep.h - rules that outlive the building of their model: proofs read them (prove.h). */
#ifndef TAKT_LOGIC_KEEP_H
#define TAKT_LOGIC_KEEP_H

#include "logic/relation.h"

/* A copy of `p` in an arena, with copies of its rules and of what they use: `kept` of every
 * predicate that was copied. Places are left out: they belong to the text. NULL when memory is
 * short. */
takt_predicate *takt_predicate_keep(takt_arena *arena, takt_relations *all, takt_predicate *p);

#endif
