/* lengths.h - bounds of value-dependent sizes, before a run. */
#ifndef TAKT_API_LENGTHS_H
#define TAKT_API_LENGTHS_H

#include "base/arena.h"
#include "ir/graph.h"

/* How small and how large a size can be; low -1: nothing is known. */
typedef struct takt_length_span {
    int64_t low, high;
} takt_length_span;

/* The elements of node `n`, integers, if they follow from sizes only, with `spans` by index of
 * names; otherwise `out` is unchanged. */
TAKT_MUST_USE takt_status takt_length_bound(const takt_graph *g, takt_id n,
                                            const takt_length_span *spans, size_t count,
                                            takt_length_span *out);

/* A graph that is being examined: the model, or a subgraph of `node`, which is one of `outer`. */
typedef struct takt_length_frame {
    const takt_graph *g;
    const takt_node *node;
    const struct takt_length_frame *outer; /* NULL: the model */
} takt_length_frame;

enum { TAKT_HULL_MOST = 65536 }; /* larger estimates are useless: the caller knows better */
/* An upper bound of the elements of `n`, integers, from limits on its inputs; otherwise `most` is
 * unchanged. */
TAKT_MUST_USE takt_status takt_length_hull(const takt_length_frame *frame, takt_id n,
                                           const takt_length_span *spans, size_t count,
                                           int64_t *most);

enum { TAKT_SPAN_LEAST, TAKT_SPAN_MOST };
/* How small and how large a dimension can be; TAKT_ERR_SHAPE: unknown. */
TAKT_MUST_USE takt_status takt_length_span_of(const takt_graph *g, takt_dim dim,
                                              const takt_length_span *of, size_t count,
                                              takt_arena *arena, int64_t out[2]);

#endif
