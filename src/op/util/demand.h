/* demand.h - the message of a failed `check`. */
#ifndef TAKT_OP_UTIL_DEMAND_H
#define TAKT_OP_UTIL_DEMAND_H

#include <math.h>

#include "op/ops.h"

/* Attributes of `check`. */
enum { TAKT_DEMAND_ERROR, TAKT_DEMAND_WHAT };
enum { TAKT_DEMAND_TRUTH, TAKT_DEMAND_SETTLE, TAKT_DEMAND_BRANCH };
extern const char *const takt_demand_names[];

takt_error_id takt_demand_id(const takt_node *n);
/* One sentence about element `index`; `value` is the element of x, NAN to omit it. */
enum { TAKT_DEMAND_TEXT = 256 };
const char *takt_demand_text(const takt_node *n, size_t index, double value,
                             char buffer[static TAKT_DEMAND_TEXT]);
/* x, checked. `what` is copied. */
takt_id takt_demand(takt_graph *g, takt_id x, takt_id ok, int error, const char *what);

#endif
