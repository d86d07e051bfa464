/* layers.h - the layers of a graph that hold weights: convolutions and products with a constant.
 *
 * A layer is a chain: the product, a bias added to it, and an activation, as long as nothing else
 * reads the values in between. Weights are seen as a matrix, one row per output channel. */
#ifndef TAKT_SHRINK_LAYERS_H
#define TAKT_SHRINK_LAYERS_H

#include "ir/graph.h"

typedef struct takt_shrink_layer {
    const char *name; /* of its origin, unique; in the arena of the list */
    takt_id product;  /* conv or matmul */
    takt_id x, w;     /* w is a constant */
    takt_id add;      /* of the bias, or TAKT_NONE */
    takt_id bias;     /* the constant that is added, one per channel or one for all */
    takt_id act;      /* relu, relu6 or clip right after it, or TAKT_NONE */
    takt_id end;      /* the last of the chain */
    bool is_conv;
    int w_axis;          /* the axis of w that counts output channels */
    int y_axis;          /* the same for the result */
    int64_t rows, inner; /* of the weights as a matrix: channels, and elements of each */
    int64_t groups;      /* of a convolution; else 1 */
} takt_shrink_layer;

typedef struct takt_shrink_layers {
    const takt_graph *graph;
    takt_arena arena;
    takt_shrink_layer *at;
    size_t count;
    uint32_t *uses; /* per node of the graph: live users, outputs and next values */
} takt_shrink_layers;

/* Those of f32, in the order of the graph, which must outlive the list. */
TAKT_MUST_USE takt_status takt_shrink_layers_init(takt_shrink_layers *l, const takt_graph *g);
void takt_shrink_layers_deinit(takt_shrink_layers *l);

/* The position of element (row, k) of the weights. */
size_t takt_shrink_weight_index(const takt_graph *g, const takt_shrink_layer *l, int64_t row,
                                int64_t k);
/* The input channel that element k of a row belongs to; in groups, within the group. */
int64_t takt_shrink_channel_of(const takt_graph *g, const takt_shrink_layer *l, int64_t k);
/* The weights as doubles, row after row; `to` has room for rows * inner. */
void takt_shrink_weights(const takt_graph *g, const takt_shrink_layer *l, double *to);
/* TAKT_E_SHRINK_NOTHING: there is no layer, or every one is to be kept. */
takt_status takt_shrink_no_layer(const takt_shrink_layers *l);
/* TAKT_E_SHRINK_NOTHING if one of these weights of a layer is NaN or infinite. */
TAKT_MUST_USE takt_status takt_shrink_check(const takt_shrink_layers *list,
                                            const takt_shrink_layer *l, const double *values);
/* The bias of each row; zeros where there is none. */
void takt_shrink_bias(const takt_graph *g, const takt_shrink_layer *l, double *to);

#endif
