/* equalize.h - neighbouring layers scaled against each other. */
#ifndef TAKT_SHRINK_EQUALIZE_H
#define TAKT_SHRINK_EQUALIZE_H

#include "ir/graph.h"

/* If a layer feeds only one other, with nothing or a relu between them, each channel is scaled down
 * in the one and up in the other until its weights are equally large in both (M. Nagel and others,
 * 2019). The model computes the same up to rounding; its channels then share a grid well. `*base`
 * is replaced; `*pairs` receives the number of pairs. */
TAKT_MUST_USE takt_status takt_shrink_equalize(takt_graph **base, size_t *pairs);

#endif
