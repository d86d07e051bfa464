/* flat.h - steps whose tasks are parts of the elements of one result, one after the other. */
#ifndef TAKT_BACKEND_CPU_FLAT_H
#define TAKT_BACKEND_CPU_FLAT_H

#include "backend/cpu/cpu.h"

enum { TAKT_FLAT_GRAIN = 256 }; /* elements that stay together */

/* Adds the inputs and the result of the group's first node to its step, and cuts the `*count`
 * elements into tasks; each element is `operations` of work. */
TAKT_MUST_USE takt_status takt_cpu_flat(takt_planner *p, double operations, size_t *count);

#endif
