/* bound.h - intervals: how an op's bounds follow from those of its inputs.
 *
 * Bounds are computed by a separate graph. For every value of the model it has either the value
 * itself, where it does not depend on what is unknown (a point), or two f64 values, the lower and
 * the upper bound of every element. A NaN bound means that nothing is known about the element,
 * which may be NaN itself; an element whose two bounds are numbers or infinite is not NaN. NaN
 * spreads through the nodes of bounds as it does through the model, so few functions check for it.
 *
 * The bounds hold for the bits that kernels compute: every function widens by the op's `error`, by
 * the rounding of the bounds' f64 arithmetic, and to infinity beyond the element type's range. With
 * `is_real` only the second is added, and the bounds hold for real numbers.
 */
#ifndef TAKT_OP_UTIL_BOUND_H
#define TAKT_OP_UTIL_BOUND_H

#include "op/ops.h"

typedef struct takt_range {
    takt_id lo, hi;
    bool is_point; /* lo == hi: the value itself in its own element type; else both are f64 */
} takt_range;

struct takt_bounding {
    takt_graph *g;           /* receives nodes */
    const takt_graph *model; /* holds the types of the node's inputs */
    const takt_node *node;   /* of the model */
    const takt_range *in;    /* one per input; lo is TAKT_NONE if it is left out */
    takt_range *out;         /* one per result, to be set */
    bool is_real;
};

/* ---- pieces ---- */

/* The range and precision of an element type that matter for rounding. */
typedef struct takt_grid {
    double ulp;  /* distance of neighbours over the lesser one's magnitude, at most */
    double tiny; /* the least distance of neighbours */
    double max;
} takt_grid;
takt_grid takt_grid_of(takt_dtype dtype);
/* n u / (1 - n u) for n roundings of the type, u half a unit in the last place. */
double takt_grid_gamma(takt_dtype dtype, double n);
/* Least and greatest value of an integer type or bool. */
void takt_bound_limits(takt_dtype dtype, double *least, double *greatest);

/* Input k as f64, rounded outwards where an integer does not fit. */
takt_range takt_bound_wide(takt_bounding *b, size_t k);
/* Whether bounds of input k may be computed in f32: the elements are floats of that type
 * themselves, not real numbers. */
bool takt_bound_is_single(const takt_bounding *b, size_t k);
/* A bound in f32. For an element that is an f32 number, the f32 number nearest to a bound is also a
 * bound: no f32 number lies between them. */
takt_id takt_bound_single(takt_bounding *b, takt_id x);
/* Input k as f32, if it is single, else as f64. */
takt_range takt_bound_input(takt_bounding *b, size_t k);
/* A constant f64 scalar. */
takt_id takt_bound_number(takt_bounding *b, double value);
/* The node's op with its attributes on other inputs: result `k` as f64. */
takt_id takt_bound_call(takt_bounding *b, const takt_id *in, size_t k);
takt_id takt_bound_max(takt_bounding *b, takt_id x, takt_id y);
takt_id takt_bound_min(takt_bounding *b, takt_id x, takt_id y);
takt_id takt_bound_abs(takt_bounding *b, takt_id x);
/* The greatest magnitude between the bounds. */
takt_id takt_bound_magnitude(takt_bounding *b, takt_range x);
/* Where either bound is NaN. */
takt_id takt_bound_unknown(takt_bounding *b, takt_range x);
/* Whether the inputs that must be known are known, as well as all others that are not numbers. */
bool takt_bound_fixed(const takt_bounding *b);
/* Result k is between `lo` and `hi` before an error of `ulps` and, in magnitude, of `more`
 * (TAKT_NONE: nothing): rounds outwards and respects the range of the element type. */
void takt_bound_set(takt_bounding *b, size_t k, takt_id lo, takt_id hi, double ulps, takt_id more);
/* A little less and a little more than x: a unit in the last place of f32. */
takt_id takt_bound_below(takt_bounding *b, takt_id x);
takt_id takt_bound_above(takt_bounding *b, takt_id x);
/* NaN where the condition holds, else x. */
takt_id takt_bound_spoil(takt_bounding *b, takt_id condition, takt_id x);
/* A sum of magnitudes, or NaN if it overflows in the sums of `dtype`: partial sums may then be
 * infinite, with either sign. */
takt_id takt_bound_overflow(takt_bounding *b, takt_id magnitude, takt_dtype dtype);
/* Same without any error, in f64 or f32. If one end is NaN, so is the other, as for log(x). */
void takt_bound_both(takt_bounding *b, size_t k, takt_id lo, takt_id hi);
/* Same for f64, where NaN is in both ends already. */
void takt_bound_keep(takt_bounding *b, size_t k, takt_id lo, takt_id hi);

/* ---- bounds that several ops share: for .bound ---- */

/* The full range of the element types: for bits and random numbers. */
void takt_bound_any(takt_bounding *b);
/* Rises with its inputs (or falls, `falls`) and is exact: moves, max, relu. */
void takt_bound_exact(takt_bounding *b);
/* Rises or falls, with an error. */
void takt_bound_monotone(takt_bounding *b);
/* The sum or difference of two: rounded once, and NaN for infinities of opposite signs. */
void takt_bound_add(takt_bounding *b);
/* Same for a function that is never negative. */
void takt_bound_positive(takt_bounding *b);
/* A sum with non-negative weights: its error is relative to the sum of magnitudes. */
void takt_bound_sum(takt_bounding *b);
/* Linear in each of its two inputs: matrix products and convolutions. */
void takt_bound_product(takt_bounding *b);
/* winograd_conv: as conv, with an error that the transforms enlarge. */
void takt_bound_winograd(takt_bounding *b);
void takt_bound_winograd_dx(takt_bounding *b);
void takt_bound_winograd_dw(takt_bounding *b);
/* Falls to a single minimum and rises after it. */
void takt_bound_valley(takt_bounding *b, double x_least, double least, takt_id more);
/* Sorted values along an axis, and indices of that axis (sort, top_k). */
void takt_bound_order(takt_bounding *b);
/* An index of an axis (argmax). */
void takt_bound_index(takt_bounding *b);
/* Written at known indices; `reduce` decides whether that is a move or a sum. */
void takt_bound_scatter(takt_bounding *b);
/* sin and cos: 1 at `top` and every 2 pi from there. */
void takt_bound_wave(takt_bounding *b, double top);
/* Combines two bools: and, or, xor, not; integers: anything. */
void takt_bound_logic(takt_bounding *b);

/* ---- chains of roundings, for .error.roundings ---- */

double takt_roundings_matmul(const takt_graph *g, const takt_node *n);
double takt_roundings_conv(const takt_graph *g, const takt_node *n);
double takt_roundings_conv_dx(const takt_graph *g, const takt_node *n);
double takt_roundings_conv_dw(const takt_graph *g, const takt_node *n);
double takt_roundings_reduce(const takt_graph *g, const takt_node *n);
double takt_roundings_pool(const takt_graph *g, const takt_node *n);
/* Sequential sums over as many terms as the first input has elements. */
double takt_roundings_chain(const takt_graph *g, const takt_node *n);

#endif
