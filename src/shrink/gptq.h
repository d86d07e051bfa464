/* gptq.h - weights rounded one column after another, each compensating for the errors before it. */
#ifndef TAKT_SHRINK_GPTQ_H
#define TAKT_SHRINK_GPTQ_H

#include "shrink/feed.h"
#include "shrink/qdq.h"

enum { TAKT_GPTQ_MOST = 2048 }; /* elements of a row: work grows with the square */

/* Whether a layer's rows are short enough. */
bool takt_gptq_suits(const takt_shrink_layer *l);
/* Numbers in the sums of a layer. */
size_t takt_gptq_size(const takt_shrink_layer *l);

/* The sums of x' x over the data, [groups, inner, inner] for every layer in `wanted`, in the arena;
 * NULL for the others. */
TAKT_MUST_USE takt_status takt_gptq_observe(takt_feed *f, const takt_shrink_layers *layers,
                                            const bool *wanted, takt_arena *arena,
                                            double **moments);

/* As takt_quant_weights_make, with the sums of the layer. `values` are changed. */
TAKT_MUST_USE takt_status takt_gptq_round(takt_arena *arena, const takt_quant_form *form,
                                          double *values, const double *moments,
                                          takt_quant_weights *w);

/* With every weight rounded up or down: adaround.c. */
TAKT_MUST_USE takt_status takt_adaround_round(takt_arena *arena, const takt_quant_form *form,
                                              const double *values, const double *moments,
                                              takt_quant_weights *w);

#endif
