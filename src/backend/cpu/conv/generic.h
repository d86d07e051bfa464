/* generic.h - convolutions and their gradients for every element type, one result at a time.
 */
#ifndef TAKT_BACKEND_CPU_CONV_GENERIC_H
#define TAKT_BACKEND_CPU_CONV_GENERIC_H

#include "backend/cpu/cpu.h"

/* conv, conv_dx or conv_dw of f64 or integers: p->group is that one node. */
TAKT_MUST_USE takt_status takt_conv_generic_compile(takt_planner *p);

#endif
