/* box.h - the box of inputs that a model's require clauses describe. */
#ifndef TAKT_VERIFY_BOX_H
#define TAKT_VERIFY_BOX_H

#include "ir/graph.h"

/* Every element of an input is in [lo, hi]; NaN: nothing is known. */
typedef struct takt_box {
    double lo, hi;
    bool is_stated; /* by a clause */
} takt_box;

/* One per input of `g`, in `boxes`. Supported are comparisons of an input, or of its magnitude,
 * with constants, and several of them joined by `and`; other clauses are ignored here. */
TAKT_MUST_USE takt_status takt_box_read(const takt_graph *g, takt_box *boxes);

#endif
