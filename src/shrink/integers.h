/* integers.h - layers that have integer weights already. */
#ifndef TAKT_SHRINK_INTEGERS_H
#define TAKT_SHRINK_INTEGERS_H

#include "ir/graph.h"

/* Whether a convolution or product is one of integers, or has dequantised weights; also in
 * subgraphs. */
bool takt_shrink_has_integers(const takt_graph *g);
/* TAKT_E_SHRINK_NOTHING, for a model without other layers. */
TAKT_MUST_USE takt_status takt_shrink_is_quantized(takt_ctx *ctx);

#endif
