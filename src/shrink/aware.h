/* aware.h - quantisation-aware training.
 *
 * Weights, biases and the values between layers are rounded in every step of the training, and
 * gradients go straight through (src/op/fake_quantize.c). The same slots feed two graphs: one for
 * training, with fake_quantize, and one for inference, with quantize and dequantize. Once weights
 * and ranges are constants the second is the model of integers. Layers that are kept have slots,
 * too, and are trained as floats; so are norms, embeddings and recurrent cells, which are floats in
 * the model of integers.
 */
#ifndef TAKT_SHRINK_AWARE_H
#define TAKT_SHRINK_AWARE_H

#include "shrink/qdq.h"

#define TAKT_AWARE_SLOT "qat/" /* prefix of the slots */

/* The input of both graphs. */
typedef struct takt_aware {
    const takt_shrink_layers *layers;
    const takt_quant_kind *kind;
    const bool *taken;                 /* per layer; others are kept as floats */
    const bool *wanted;                /* per node: values that are rounded */
    const takt_quant_weights *weights; /* per layer: first scales */
    const takt_quant_grid *grids;      /* per node: first ranges */
} takt_aware;

TAKT_MUST_USE takt_status takt_aware_build(const takt_aware *a, bool is_training, takt_graph **out);

/* ---- pieces ---- */

/* A layer in the graph that is built. */
typedef struct takt_aware_site {
    const takt_aware *aware;
    takt_graph *g;
    bool is_training;
    size_t index;    /* of the layer */
    takt_id x;       /* its input */
    takt_id x_scale; /* of the input's grid; TAKT_NONE: x is a float, or the layer is kept */
} takt_aware_site;

/* The product and its bias, with slots for both. */
takt_id takt_aware_layer(const takt_aware_site *s);
/* x / scale to the nearest level and back, symmetric, for values whose scale broadcasts. */
takt_id takt_aware_round(takt_graph *g, takt_id x, takt_id scale, int64_t most);

#endif
