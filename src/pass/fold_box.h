/* fold_box.h - what is written at every place of a box of coordinates. */
#ifndef TAKT_PASS_FOLD_BOX_H
#define TAKT_PASS_FOLD_BOX_H

#include "pass/pass.h"

/* scatter_nd at known coordinates that are a box, in order: x with u in place of it. */
takt_id takt_fold_box(takt_rewrite *r, const takt_node *n);

#endif
