/* reach.h - which sizes a step depends on: steps that depend on no changed size need not be
 * recompiled. */
#ifndef TAKT_PLAN_REACH_H
#define TAKT_PLAN_REACH_H

#include "pass/template.h"
#include "plan/builder.h"

/* A set of names; several may share a bit. */
typedef uint64_t takt_names;

static inline takt_names takt_name_bit(size_t name)
{
    return UINT64_C(1) << (name & 63);
}

/* Per node of the builder's graph, in its scratch: names that a step of the node depends on, by
 * what it reads and writes and where that is. NULL: out of memory. */
takt_names *takt_reach_of(takt_builder *b, const takt_template *t);

static inline takt_names takt_reach_group(const takt_names *reach, const takt_group *group)
{
    takt_names all = 0;
    for (size_t i = 0; i < group->count; i++)
        all |= reach[group->nodes[i]];
    return all;
}

#endif
