/* packs.h - constants that plans of one graph share whatever their sizes: packed weights, and
 * values that depend only on constants. They are identified by their source node, so that they are
 * found without looking at their bytes; among graphs of one model, by what that node is made of. */
#ifndef TAKT_PLAN_PACKS_H
#define TAKT_PLAN_PACKS_H

#include "plan/backend.h"
#include "plan/sign.h"

typedef struct takt_packs takt_packs;

typedef struct takt_pack_name {
    takt_id node;
    const char *format; /* "" for the value itself */
    size_t bytes;
    takt_fill_fn *fill;      /* NULL for the value itself */
    takt_space space;        /* of its bytes */
    takt_fill_part_fn *part; /* how several threads do it, or NULL; not part of the name */
    takt_fill_span_fn *span; /* what a part reads, or NULL; nor this */
} takt_pack_name;

/* `is_sized`: per node of the graph, depends on sizes, so it is not shared. Copied. */
TAKT_MUST_USE takt_status takt_packs_create(const takt_graph *graph, const unsigned char *is_sized,
                                            takt_packs **packs);
void takt_packs_destroy(takt_packs *packs); /* accepts NULL */

/* True and a tensor to be released, if it is present. */
bool takt_packs_find(takt_packs *packs, const takt_pack_name *name, takt_tensor *tensor);
/* The same in the packs of another graph with the same weights; `packs` contains the node. */
bool takt_packs_find_in(takt_packs *other, const takt_packs *packs, const takt_pack_name *name,
                        takt_tensor *tensor);
/* Adds its allocated bytes. */
void takt_tally_packs(struct takt_tally *t, takt_packs *packs); /* accepts NULL */
/* Does nothing for nodes that depend on sizes. */
TAKT_MUST_USE takt_status takt_packs_keep(takt_packs *packs, const takt_pack_name *name,
                                          const takt_tensor *tensor);

#endif
