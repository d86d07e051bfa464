/* formula.h - pieces of formulas that several ops lower to, all in primitives. */
#ifndef TAKT_OP_UTIL_FORMULA_H
#define TAKT_OP_UTIL_FORMULA_H

#include "op/ops.h"

/* 1 / x, by division. */
takt_id takt_reciprocal(takt_graph *g, takt_id x);
/* x * x. */
takt_id takt_square(takt_graph *g, takt_id x);
/* exp(x) - 1 and log(1 + x) without cancellation near 0. */
takt_id takt_expm1(takt_graph *g, takt_id x);
takt_id takt_log1p(takt_graph *g, takt_id x);
/* log(1 + exp(x)) without overflow or cancellation. */
takt_id takt_softplus(takt_graph *g, takt_id x);
/* The arc tangent. */
takt_id takt_atan(takt_graph *g, takt_id x);
/* low <= x <= high by max, then min: NaN stays NaN. */
takt_id takt_clamp(takt_graph *g, takt_id x, double low, double high);
/* An odd function whose value at |x| is `value`: negated if x < 0, x itself if x is a zero.
 */
takt_id takt_with_sign(takt_graph *g, takt_id value, takt_id x);

/* Comparisons with a constant: bool. */
takt_id takt_is_above(takt_graph *g, takt_id x, double value); /* x > value */
takt_id takt_is_below(takt_graph *g, takt_id x, double value); /* x < value */
/* x where the condition holds, else 0: how a gradient is gated. A product with 0 or 1 would turn
 * an infinite x into NaN. */
takt_id takt_keep_where(takt_graph *g, takt_id condition, takt_id x);

/* f32 for f16 and bf16, whose statistics would overflow or lose low bits; else x. */
takt_id takt_widen(takt_graph *g, takt_id x);
/* Whether the node is a composite in 16 bits that is computed in f32 and rounded once. */
bool takt_is_widened(const takt_node *n);
/* Such a node in f32, between casts. */
takt_id takt_append_widened(takt_graph *g, const takt_node *n);

/* The gradient of ops that are constant almost everywhere: nothing flows. */
void takt_grad_zero(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx);

/* The gradient of max (`greater`) and min: to the winner; ties share it. */
void takt_grad_of_choice(takt_graph *g, takt_id id, takt_id dy, bool greater, takt_id *dx);

/* `flops` for every element of the first input, and all bytes in and out once. */
void takt_cost_of_input(const takt_graph *g, const takt_node *n, double flops, takt_cost *cost);

#endif
