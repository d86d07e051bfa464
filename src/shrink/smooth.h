/* smooth.h - outliers of activations moved into weights. */
#ifndef TAKT_SHRINK_SMOOTH_H
#define TAKT_SHRINK_SMOOTH_H

#include "shrink/feed.h"

/* If a norm feeds only products, channel j of its result is divided by s = max|x_j|^alpha /
 * max|w_j|^(1 - alpha), in its gamma and beta, and the weights that read it are multiplied by it
 * (G. Xiao and others, 2022). The model computes the same up to rounding; its largest activations
 * then fit the grid of the others. `*base` is replaced; `*norms` receives the number of norms. */
TAKT_MUST_USE takt_status takt_shrink_smooth(takt_feed *f, takt_graph **base, double alpha,
                                             size_t *norms);

#endif
