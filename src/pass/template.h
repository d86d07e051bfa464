/* template.h - a graph with named dimensions that is repeatedly given sizes.
 *
 * Passes run once, on names. After that a size changes only types, shapes among attributes, and
 * sizes that are read as values; all of it comes out of one size program. Nodes keep their numbers,
 * so whatever is known about a node of one size's graph holds for the same node of another's. */
#ifndef TAKT_PASS_TEMPLATE_H
#define TAKT_PASS_TEMPLATE_H

#include "ir/graph.h"
#include "ir/sizes.h"

/* A number that depends on sizes: dimension `index` of result or attribute `which` of a node. */
typedef struct takt_patch {
    takt_id node;
    uint32_t which, index, cell;
} takt_patch;

typedef struct takt_template {
    takt_ctx *ctx;
    takt_graph *graph;
    takt_sizes sizes;
    takt_patch *types, *shapes, *values; /* values: `dim` nodes, which become constants */
    size_t type_count, type_capacity, shape_count, shape_capacity, value_count, value_capacity;
    takt_id *outer; /* nodes with subgraphs */
    size_t outer_count, outer_capacity;
    unsigned char *is_sized; /* per node: it, or a value it is computed from, depends on sizes */
    takt_id *checked;        /* nodes whose rules a size may break, in order */
    size_t checked_count, checked_capacity;
} takt_template;

/* `graph` is retained. */
TAKT_MUST_USE takt_status takt_template_create(takt_graph *graph, takt_template **out);
void takt_template_destroy(takt_template *t); /* accepts NULL */
/* Its allocated bytes, without its graph. */
size_t takt_template_bytes(const takt_template *t);
/* The graph for sizes by index of the table's names: concrete, checked by inference. */
TAKT_MUST_USE takt_status takt_template_size(const takt_template *t, const int64_t *sizes,
                                             size_t count, takt_graph **out);

/* Substitutes other sizes, the cells of the size program, into a graph that takt_template_size made
 * and that nobody else reads. Nothing is allocated. Inference checks all nodes except those with
 * subgraphs. Those are unchanged; the caller that resizes a subgraph checks its nodes. */
TAKT_MUST_USE takt_status takt_template_put(const takt_template *t, const int64_t *cells,
                                            takt_graph *g);
/* With cells that have been checked. */
void takt_template_write(const takt_template *t, const int64_t *cells, takt_graph *g);
/* template_check.c: finds the nodes whose rules a number can break; and checks them. */
TAKT_MUST_USE takt_status takt_template_list(takt_template *t);
TAKT_MUST_USE takt_status takt_template_check(const takt_template *t, takt_graph *g);
/* The same, skipping nodes with subgraphs; and for a single node. */
TAKT_MUST_USE takt_status takt_template_check_plain(const takt_template *t, takt_graph *g);
TAKT_MUST_USE takt_status takt_template_check_node(takt_graph *g, takt_id id);

#endif
