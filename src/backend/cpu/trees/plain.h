/* plain.h - tree_ensemble by its definition, for tables that are not known at plan time. */
#ifndef TAKT_BACKEND_CPU_TREES_PLAIN_H
#define TAKT_BACKEND_CPU_TREES_PLAIN_H

#include "backend/cpu/cpu.h"

TAKT_MUST_USE takt_status takt_trees_plain(takt_planner *p);

#endif
