/* held.h - allocated bytes of objects, each counted once however many hold it.
 *
 * For figures that are exact to the byte. A count has a tick; objects remember the tick in which
 * they were counted. One count at a time: callers hold the lock of the context's plan cache. */
#ifndef TAKT_IR_HELD_H
#define TAKT_IR_HELD_H

#include "ir/graph.h"

typedef struct takt_tally {
    uint64_t tick;
    uint64_t bytes;
} takt_tally;

/* A tensor's storage with its header; borrowed bytes are the caller's. Accepts a storage of
 * NULL. */
void takt_tally_tensor(takt_tally *t, const takt_tensor *tensor);
/* A graph, its subgraphs, its table of dimensions and the constants that it holds. */
void takt_tally_graph(takt_tally *t, takt_graph *g);
/* Releases the constants of a graph, and of its subgraphs unless they are shared: types, names,
 * origins and constants of less than TAKT_STRIP_LEAST bytes stay. Data that is read later must be
 * held elsewhere. */
enum { TAKT_STRIP_LEAST = 4096 };
void takt_graph_strip(takt_graph *g);

#endif
