/* lengths.h - what sizes that values decide can be, before a run. */
#ifndef TAKT_API_LENGTHS_H
#define TAKT_API_LENGTHS_H

#include "base/arena.h"
#include "ir/graph.h"

/* How small and how large a size can be; low -1: nothing is known. */
typedef struct takt_length_span {
    int64_t low, high;
} takt_length_span;

/* The elements of node `n`, whole numbers, where they follow from sizes alone, `spans` by index of
 * names; else `out` stays what it is. */
TAKT_MUST_USE takt_status takt_length_worth(const takt_graph *g, takt_id n,
                                            const takt_length_span *spans, size_t count,
                                            takt_length_span *out);

enum { TAKT_SPAN_LEAST, TAKT_SPAN_MOST };
/* How small and how large a dimension can be; TAKT_ERR_SHAPE: that is not known. */
TAKT_MUST_USE takt_status takt_length_span_of(const takt_graph *g, takt_dim dim,
                                              const takt_length_span *of, size_t count,
                                              takt_arena *arena, int64_t out[2]);

#endif
