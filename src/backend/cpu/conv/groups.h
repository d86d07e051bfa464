/* groups.h - convolutions of many groups with few channels each, which are read in place. */
#ifndef TAKT_BACKEND_CPU_CONV_GROUPS_H
#define TAKT_BACKEND_CPU_CONV_GROUPS_H

#include "backend/cpu/conv/shape.h"

/* Whether the convolution of `s` is faster this way than as one product per group. */
bool takt_conv_groups_fits(const takt_planner *p, const takt_conv_shape *s);
/* For p->group, whose first node is that convolution. */
TAKT_MUST_USE takt_status takt_conv_groups_compile(takt_planner *p);

#endif
