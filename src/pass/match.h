/* match.h - predicates on nodes for rules. */
#ifndef TAKT_PASS_MATCH_H
#define TAKT_PASS_MATCH_H

#include "op/ops.h"
#include "pass/pass.h"

/* The node, if it computes `op`; else NULL. */
const takt_node *takt_match_op(const takt_graph *g, takt_id id, const takt_op *op);
/* Every element is this value (sign of zero included); constants of up to 64 elements only. */
bool takt_match_value(const takt_graph *g, takt_id id, double value);
bool takt_match_is_constant(const takt_graph *g, takt_id id);
/* Computed from constants alone, through a few nodes at most. */
bool takt_match_is_fixed(const takt_graph *g, takt_id id);
/* Same element type and dimensions. */
bool takt_match_type(const takt_graph *g, takt_id a, const takt_type *type);
/* The input of the original graph behind input `k` of the node being rewritten has one user. */
bool takt_match_single(const takt_rewrite *r, uint32_t k);
bool takt_match_is_scalar(const takt_graph *g, takt_id id);

#endif
