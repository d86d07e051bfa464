/* group.h - what the files that decide which nodes become one step share. */
#ifndef TAKT_PLAN_GROUP_H
#define TAKT_PLAN_GROUP_H

#include "plan/builder.h"

enum {
    TAKT_GROUP_LONGEST = 48, /* nodes in one step: keeps compiling linear and its registers few */
    TAKT_GROUP_REACH = 256   /* nodes between the two parts of a step: keeps compiling linear */
};

bool takt_group_same_shape(const takt_type *a, const takt_type *b);
/* Appends a node. */
TAKT_MUST_USE takt_status takt_group_join(takt_builder *b, takt_group *group, takt_id id);
/* Moves group `from` to the end: only node `id`, which is about to join it, reads its result. */
void takt_group_make_last(takt_builder *b, int32_t from, takt_id id);
/* Node `id` has joined an element-wise group. If it also reads the result of another group with the
 * same inputs, and nothing else does, the two become one step and neither result is stored. */
TAKT_MUST_USE takt_status takt_group_take_branches(takt_builder *b, takt_id id);

#endif
