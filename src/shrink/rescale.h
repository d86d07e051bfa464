/* rescale.h - channels of a value divided where they are made and multiplied where they are read.
 *
 * A norm, or a layer with nothing or a relu behind it, gives a value that only layers read. Its
 * channels may then be divided in gamma and beta, or in the rows and the bias, and the columns that
 * read them multiplied: the model computes the same up to rounding. */
#ifndef TAKT_SHRINK_RESCALE_H
#define TAKT_SHRINK_RESCALE_H

#include "shrink/layers.h"

typedef struct takt_rescale_value {
    takt_id id;
    size_t layer; /* that produces it, + 1; 0: a norm does */
    int64_t channels;
    double *by; /* per channel; 1 at first */
} takt_rescale_value;

typedef struct takt_rescale {
    takt_shrink_layers layers;
    takt_arena arena;
    takt_rescale_value *values;
    size_t count;
    size_t *value_of; /* per layer: the value that it reads, + 1 */
} takt_rescale;

/* Finds the values: between norms and products, and with `of_layers` between layers. */
TAKT_MUST_USE takt_status takt_rescale_init(takt_rescale *r, const takt_graph *base,
                                            bool of_layers);
void takt_rescale_deinit(takt_rescale *r);
/* `*base`, for which `r` was made, is replaced by the graph with the channels scaled. */
TAKT_MUST_USE takt_status takt_rescale_apply(takt_rescale *r, takt_graph **base);

#endif
