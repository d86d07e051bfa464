/* qdq.h - a graph with layers rounded to integers: quantize and dequantize around them.
 *
 * The result is an ordinary graph. The passes find the pairs and compute on the integers; the rest
 * is computed in floats on rounded values. */
#ifndef TAKT_SHRINK_QDQ_H
#define TAKT_SHRINK_QDQ_H

#include "shrink/layers.h"
#include "shrink/range.h"

typedef enum takt_quant_type {
    TAKT_QUANT_INT8,    /* weights and activations of 8 bits */
    TAKT_QUANT_W8,      /* weights of 8 bits in blocks */
    TAKT_QUANT_W4,      /* weights of 4 bits in blocks */
    TAKT_QUANT_INT16X8, /* activations of 16 bits, weights of 8 */
    TAKT_QUANT_W4A8,    /* activations of 8 bits, weights of 4 */
    TAKT_QUANT_TYPES
} takt_quant_type;

typedef struct takt_quant_kind {
    const char *name;
    int weight_bits;
    int x_bits; /* 0: activations are not quantised */
    bool is_symmetric;
    int64_t block; /* 0: one scale per output channel */
} takt_quant_kind;
extern const takt_quant_kind takt_quant_kinds[TAKT_QUANT_TYPES];

/* Weights of a layer as integers, row after row. */
typedef struct takt_quant_weights {
    int8_t *level;
    float *scale; /* rows * blocks of them */
    int64_t block, blocks;
    double *bias; /* per row, with its correction */
    bool has_bias;
} takt_quant_weights;

/* The common scale of weights that share one. */
float takt_quant_scale(const double *x, int64_t count, int bits);
/* Rounds to nearest; `values` are rows * inner weights. Everything is in `arena`. */
TAKT_MUST_USE takt_status takt_quant_weights_make(takt_arena *arena, const takt_graph *g,
                                                  const takt_shrink_layer *l,
                                                  const takt_quant_kind *kind, const double *values,
                                                  takt_quant_weights *w);

typedef struct takt_qdq {
    const takt_shrink_layers *layers;
    const takt_quant_kind *kind;
    const bool *taken;                 /* per layer */
    const takt_quant_weights *weights; /* per layer */
    const takt_quant_grid *grids;      /* per node; of those that are observed */
    bool is_whole;                     /* results of layers are integers even if floats follow */
} takt_qdq;

/* Which values become integers if these layers do; `wanted` has one entry per node. */
TAKT_MUST_USE takt_status takt_qdq_wanted(const takt_shrink_layers *l, const bool *taken,
                                          bool is_whole, bool *wanted);
TAKT_MUST_USE takt_status takt_qdq_build(const takt_qdq *q, takt_graph **out);

/* ---- pieces, for graphs of single layers ---- */

/* x rounded to a grid, as integers. */
takt_id takt_qdq_quantize(takt_graph *g, takt_id x, const takt_quant_grid *grid, int bits);
takt_id takt_qdq_dequantize(takt_graph *g, takt_id q, const takt_quant_grid *grid, int bits);
/* A layer of the base with rounded weights. */
typedef struct takt_quant_form {
    const takt_graph *base;
    const takt_shrink_layer *layer;
    const takt_quant_kind *kind;
    const takt_quant_weights *weights;
} takt_quant_form;
/* The layer on `x`, which is dequantised already: product and bias. `x_scale` 0: x is a float. */
takt_id takt_qdq_layer(takt_graph *g, const takt_quant_form *f, takt_id x, float x_scale);

#endif
