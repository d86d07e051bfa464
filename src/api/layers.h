/* layers.h - the layers of a model, with their parameters and work. */
#ifndef TAKT_API_LAYERS_H
#define TAKT_API_LAYERS_H

#include "api/model.h"
#include "base/inner.h"

/* The contents of one layer, or of one statement outside all layers. */
typedef struct takt_layer {
    const char *name;
    const char *type;     /* "conv", or the op that does most of the work */
    const takt_type *out; /* type of its last value, in the graph with names */
    size_t last;          /* the node of that value */
    uint64_t parameters;  /* elements of trainable slots */
    uint64_t state;       /* elements of the others */
    double macs, flops;   /* at the given sizes, 1 where none is given */
    size_t nodes;
    double top_flops; /* of the most expensive node, which names the type */
    bool has_slots, is_input, is_called;
} takt_layer;

typedef struct takt_layers {
    takt_arena arena;
    takt_graph *named; /* names where no size was given */
    takt_graph *plain; /* numbers everywhere */
    takt_graph *sized; /* the same, lowered */
    int64_t *sizes;    /* of named dimensions in `plain`, by index */
    size_t size_count;
    bool may_be_unsized, is_unsized; /* no sizes that were tried satisfy the model's rules */
    bool is_all_one;                 /* every size that was not given is 1 */
    takt_layer *at;
    size_t count;
    uint32_t *table; /* open addressing by name */
    size_t table_size;
    uint64_t constant_bytes; /* of weights that are constants */
} takt_layers;

/* `sizes` as for takt_model_summary; `may_be_unsized` is set before. */
TAKT_INNER TAKT_MUST_USE takt_status takt_layers_init(takt_layers *l, const takt_model *m,
                                                      const char *sizes);
TAKT_INNER void takt_layers_deinit(takt_layers *l);

#endif
