/* groups.h - channels that can only be removed together.
 *
 * A channel of a layer's result is an index along an axis. Every reader of the value has an index
 * that belongs to it: a column of the next weights, a scale of a norm, an index of the other branch
 * of a residual. Axes reached this way consist of elements, and elements that belong together are
 * united. A unit of a group is such a set: all of it is removed, or nothing. */
#ifndef TAKT_SHRINK_GROUPS_H
#define TAKT_SHRINK_GROUPS_H

#include "ir/graph.h"

typedef struct takt_axis_ref {
    takt_id node;
    int axis;
} takt_axis_ref;

/* An axis that was reached. */
typedef struct takt_group_axis {
    takt_axis_ref at;
    uint32_t first; /* its elements are first … first + count */
    uint32_t count;
} takt_group_axis;

/* The body of a scan. Its nodes are numbered after those of the graph. */
typedef struct takt_group_body {
    takt_id scan;
    const takt_graph *graph;
    size_t first; /* its node i has the number first + i */
} takt_group_body;

typedef struct takt_groups {
    takt_ctx *ctx;
    const takt_graph *graph;
    takt_arena arena;
    takt_node *nodes; /* of the graph, then of all bodies; `in` are numbers of this list */
    size_t node_count;
    takt_group_body *bodies;
    size_t body_count;
    size_t *offsets; /* per node: where its axes begin in `index` */
    uint32_t *index; /* per axis of every node: entry of `axes` + 1, or 0 */
    takt_group_axis *axes;
    size_t axis_count, axis_capacity;
    uint32_t *parent; /* of elements */
    bool *blocked;    /* of roots: it cannot be removed */
    size_t element_count, element_capacity, blocked_capacity;
    takt_id *queue; /* nodes to visit */
    size_t queue_count, queue_capacity;
    takt_id **users; /* per node, TAKT_NONE at the end */
    unsigned char *live;
    takt_status status; /* sticky */
} takt_groups;

TAKT_MUST_USE takt_status takt_groups_init(takt_groups *g, const takt_graph *graph);
void takt_groups_deinit(takt_groups *g);
/* Starts from this axis; false if it was reached before, or cannot be. */
bool takt_groups_start(takt_groups *g, takt_axis_ref at);
/* After the last start: blocks everything that was reached but cannot be followed. */
TAKT_MUST_USE takt_status takt_groups_settle(takt_groups *g);

/* The set that element `index` of the axis belongs to; UINT32_MAX if the axis was not reached. */
uint32_t takt_groups_unit(takt_groups *g, takt_axis_ref at, uint32_t index);
bool takt_groups_is_blocked(takt_groups *g, uint32_t unit);

/* The body of scan `id`; NULL: it is another op. */
const takt_group_body *takt_groups_body(const takt_groups *g, takt_id id);
/* Fills `nodes` and `bodies`. */
TAKT_MUST_USE takt_status takt_groups_list_nodes(takt_groups *g);

/* The part of an axis of known size that a slice takes. */
typedef struct takt_slice_part {
    int64_t first, count, step;
} takt_slice_part;
takt_slice_part takt_groups_slice_part(const takt_node *n, int axis, int64_t size);

/* ---- for the rules of ops (groups_ops.c, groups_scan.c) ---- */

/* Element i of `u` belongs to element offset + mul * ((i / div) % mod) of `v`. */
typedef struct takt_axis_map {
    int64_t div, mod, mul, offset;
} takt_axis_map;

bool takt_groups_is_active(const takt_groups *g, takt_axis_ref at);
/* If one of them was reached, both are, and corresponding elements are united. */
void takt_groups_link(takt_groups *g, takt_axis_ref u, takt_axis_ref v, takt_axis_map map);
/* Axes of the same size, index by index. */
void takt_groups_same(takt_groups *g, takt_axis_ref u, takt_axis_ref v);
/* All of it is kept, if it was reached. */
void takt_groups_block(takt_groups *g, takt_axis_ref at);
void takt_groups_block_all(takt_groups *g, takt_id node);

/* Applies the rules of node `id` to the axes of its inputs and results. `is_last`: nothing more
 * will be reached, and axes that the rules cannot follow are blocked. */
void takt_groups_relate(takt_groups *g, takt_id id, bool is_last);

/* Rules that need more room. */
void takt_groups_scan(takt_groups *g, const takt_node *n, takt_id id, bool is_last);
void takt_groups_get(takt_groups *g, const takt_node *n, takt_id id, bool is_last);
void takt_groups_slice(takt_groups *g, const takt_node *n, takt_id id, bool is_last);
/* Marks all inputs and results of the node as kept. */
void takt_groups_block_node(takt_groups *g, const takt_node *n, takt_id id);

#endif
