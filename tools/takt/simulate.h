/* simulate.h - Takt itself in valgrind, for figures that the processor does not provide. */
#ifndef TAKT_TOOL_SIMULATE_H
#define TAKT_TOOL_SIMULATE_H

#include "measure.h"

/* The cost of loading and planning is in both counts, and cancels out in their difference. */
enum { TOOL_FEW_RUNS = 2, TOOL_MANY_RUNS = 7 };

typedef struct tool_simulation {
    const char *const *options;  /* of valgrind; ends with NULL */
    const char *model;           /* its path */
    const char *sizes;           /* "batch=8,time=3", or NULL */
    const tool_flag_id *carried; /* flags that the run needs to compute the same; TAKT_FLAG_IDS */
} tool_simulation;

/* Runs `takt run` on one thread, this many times; `said` gets valgrind's report. False: valgrind is
 * not installed, or could not run the model. */
bool tool_simulate(const takt_tool *t, const tool_simulation *s, int runs, tool_buffer *said);
/* The number after a label of the report. */
bool tool_simulated(const tool_buffer *said, const char *label, double *value);

#endif
