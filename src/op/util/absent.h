/* absent.h - a product with values that some rows do not see. */
#ifndef TAKT_OP_UTIL_ABSENT_H
#define TAKT_OP_UTIL_ABSENT_H

#include "op/ops.h"

/* weights v, where weights are 0 for keys that are not `seen`: infinities and NaN of v count only
 * where they are seen, and have no gradient. */
takt_id takt_absent_mix(takt_graph *g, takt_id weights, takt_id v, takt_id seen);

#endif
