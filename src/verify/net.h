/* net.h - a model as linear bounds see it: sums with fixed factors, and functions of one or two
 * numbers.
 *
 * It is made from the graph that runs, node by node. Moves become maps of indices, products with
 * constants become matrices, everything else is an op with `relax` or is lowered until it is one.
 * Each node has the error of its kernel, so what is proved of the net holds for the bits.
 */
#ifndef TAKT_VERIFY_NET_H
#define TAKT_VERIFY_NET_H

#include "ir/graph.h"

typedef enum takt_net_kind {
    TAKT_NET_INPUT,
    TAKT_NET_SUM,   /* bias plus the sum of its parts */
    TAKT_NET_CURVE, /* op with `relax` of one value */
    TAKT_NET_PAIR,  /* op with `relax` of two */
} takt_net_kind;

typedef enum takt_net_form {
    TAKT_NET_DENSE,  /* values[count][count of the source] */
    TAKT_NET_SPARSE, /* entries starts[i] to starts[i + 1] of element i */
    TAKT_NET_MAP,    /* element i takes factor times element columns[i]; UINT32_MAX: nothing */
} takt_net_form;

typedef struct takt_net_part {
    takt_net_form form;
    uint32_t source;
    const double *values; /* of a map: one per element, or NULL: `factor` for all */
    double factor;
    const uint32_t *columns;
    const size_t *starts;
    const uint32_t *runs; /* of a sparse part, per entry: number of consecutive columns from it on,
                             within its element; NULL: there are few */
    const struct takt_net_single *single; /* the same in f32 (products.h); or NULL */
} takt_net_part;

typedef struct takt_net_node {
    takt_net_kind kind;
    uint32_t count; /* elements */
    uint32_t sources[2];
    takt_net_part *parts;
    size_t part_count;
    const double *bias;  /* NULL: none */
    const takt_node *of; /* the graph's node, alive as long as the net */
    double gamma;        /* kernel's error, of the sum of magnitudes */
    double share;        /* of the result */
    double tiny;         /* of nothing: where results underflow */
    double ulp;          /* of the type; 0: for real numbers */
    const char *label;
    bool is_used;             /* by the outputs */
    const uint32_t *negative; /* per element: the one that is -1 times it; NULL: none is known */
    bool *is_live;            /* per element: some output depends on it; NULL: not used */
    bool is_refined;          /* worth linear bounds: a sum, or a pair, that a function reads */
    bool is_entry;            /* one of the net's entries, but not an input */
    bool is_move;             /* a sum that copies elements of one node, exactly */
    bool is_direct; /* a sum with each input at most once: intervals of a box lose nothing */
} takt_net_node;

typedef struct takt_net {
    takt_ctx *ctx;
    takt_arena arena;
    takt_net_node *nodes; /* sources come first */
    uint32_t output;      /* the node that holds all outputs, concatenated */
    size_t count, capacity;
    size_t element_count;             /* of all nodes */
    size_t input_count, output_count; /* elements of all inputs, and outputs */
    uint32_t *inputs;                 /* nodes, in the model's order */
    uint32_t *entries; /* per input: the node that scales it for all its readers, or the input */
    size_t port_count;
    double max; /* beyond this a value may be infinite */
    takt_graph **lowered;
    size_t lowered_count, lowered_capacity;
} takt_net;

/* `g` is concrete and lives as long as the net. `is_real`: for real numbers, without errors of
 * kernels. TAKT_E_VERIFY_MODEL names the unsupported part. */
TAKT_MUST_USE takt_status takt_net_init(const takt_graph *g, bool is_real, takt_net *net);
void takt_net_deinit(takt_net *net);
/* Removes nodes that only rename, merges products with the bias after them, and marks the nodes in
 * use. takt_net_init ends with it. */
TAKT_MUST_USE takt_status takt_net_fold(takt_net *net);

#endif
