/* keep.h - rules that outlive the building of their model: proofs read them (prove.h). */
#ifndef TAKT_LOGIC_KEEP_H
#define TAKT_LOGIC_KEEP_H

#include "logic/relation.h"

/* A copy of `p` in an arena, with copies of its rules and the predicates they use; sets `kept` of
 * every copied predicate. Places are omitted: they belong to the text. NULL if out of memory. */
takt_predicate *takt_predicate_keep(takt_arena *arena, takt_relations *all, takt_predicate *p);

#endif
