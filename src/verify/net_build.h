/* net_build.h - shared by the files that build a net. */
#ifndef TAKT_VERIFY_NET_BUILD_H
#define TAKT_VERIFY_NET_BUILD_H

#include "ir/array.h"
#include "verify/net.h"

/* A value of the graph: known, or a node of the net. */
typedef struct takt_net_value {
    bool is_known, is_absent; /* absent: an unknown truth value or integer */
    takt_array known;         /* the builder's */
    uint32_t node;
} takt_net_value;

typedef struct takt_net_builder {
    takt_net *net;
    const takt_graph *graph;
    takt_net_value **values; /* per node of the graph, one per result */
    takt_arena *arena;       /* of data that is freed with the builder */
    takt_array **held;       /* known values, to be released */
    size_t held_count, held_capacity;
    bool is_real;
    int depth; /* of lowerings */
} takt_net_builder;

/* A node of the net for `n`: count elements, errors by the op's record. Returns UINT32_MAX if out
 * of memory. */
uint32_t takt_net_add(takt_net_builder *b, const takt_node *n, takt_net_kind kind, size_t count);
/* Parts of node `id`, zeroed; NULL if out of memory. */
takt_net_part *takt_net_parts(takt_net_builder *b, uint32_t id, size_t count);
/* Elements of a concrete type. */
size_t takt_net_elements(const takt_type *t);
takt_status takt_net_refuse(takt_net_builder *b, const takt_node *n, const char *why);

/* Each sets `*done` if it supports the op; in[k] are the values of the node's inputs. */
typedef takt_status takt_net_rule(takt_net_builder *b, const takt_node *n,
                                  takt_net_value *const *in, takt_net_value *out, bool *done);
takt_net_rule takt_net_moves, takt_net_arithmetic, takt_net_functions, takt_net_products,
    takt_net_windows, takt_net_softmax, takt_net_choices;

/* Index of element `flat` of shape `out` in a value of type `in` that is broadcast to it. */
size_t takt_net_broadcast(const takt_type *out, const takt_type *in, size_t flat);
/* The maximum of pairs of equally long nodes, until one is left. */
TAKT_MUST_USE takt_status takt_net_greatest(takt_net_builder *b, const takt_node *n,
                                            uint32_t *nodes, size_t count, uint32_t *out);

#endif
