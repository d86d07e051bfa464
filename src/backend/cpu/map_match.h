/* map_match.h - questions about the nodes of an element-wise step, to recognise what one kernel
 * computes. */
#ifndef TAKT_BACKEND_CPU_MAP_MATCH_H
#define TAKT_BACKEND_CPU_MAP_MATCH_H

#include "backend/cpu/map_program.h"

typedef struct takt_map_match {
    const takt_graph *g;
    const takt_map_program *program; /* made of the nodes, in their order */
    const takt_id *nodes;
    size_t count;
} takt_map_match;

/* The nodes of p's group. */
takt_map_match takt_map_match_of(const takt_planner *p, const takt_map_program *program);
/* The node, if it is in the group and computes `op`; else NULL. */
const takt_node *takt_map_match_node(const takt_map_match *x, takt_id id, const takt_op *op);
/* The operand that input `k` of a node of the group reads; NULL if the group computes it. */
const takt_map_operand *takt_map_match_input(const takt_map_match *x, const takt_node *n, int k);
/* The same, if it is not widened. */
const takt_map_operand *takt_map_match_operand(const takt_map_match *x, const takt_node *n, int k);
/* Whether input `k` is one f32 for all elements, or one for each; `view` is then its index into
 * step->in. */
bool takt_map_match_scalar(const takt_map_match *x, const takt_node *n, int k, int *view);
bool takt_map_match_full(const takt_map_match *x, const takt_node *n, int k, int *view);
/* op(x, scalar) with either operand order: returns x; TAKT_NONE if it does not match. */
takt_id takt_map_match_with(const takt_map_match *x, takt_id id, const takt_op *op, int *view);

#endif
