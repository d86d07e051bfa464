/* integer.h - shared by integer_matmul and integer_conv: zero points, bias, and requantisation.
 *
 *     sum = contraction of (a - a_zero) and (b - b_zero), in i32, + bias
 *     result = sum                                          without scale
 *              f32(sum) * scale                             without zero
 *              saturate(round(f32(sum) * scale) + zero)     otherwise, with the type of zero
 *              saturate(rescale(sum, scale, shift) + zero)  with shift: fixed point, scale is i32
 *              saturate(round(f64(sum) * scale) + zero)     if scale is f64; halves away from zero
 */
#ifndef TAKT_OP_UTIL_INTEGER_H
#define TAKT_OP_UTIL_INTEGER_H

#include "op/ops.h"

enum {
    TAKT_INTEGER_A,
    TAKT_INTEGER_B,
    TAKT_INTEGER_A_ZERO,
    TAKT_INTEGER_B_ZERO,
    TAKT_INTEGER_BIAS,
    TAKT_INTEGER_SCALE,
    TAKT_INTEGER_ZERO,
    TAKT_INTEGER_INPUTS, /* of those that scale by floats */
    TAKT_INTEGER_SHIFT = TAKT_INTEGER_INPUTS,
    TAKT_INTEGER_ALL
};

#define TAKT_BYTES (TAKT_IN(TAKT_I8) | TAKT_IN(TAKT_U8))

/* Everything but the contraction's own shapes; `columns`: the size that b_zero, bias and scale may
 * have; b_zero and scale may also be scalars. Sets the element type of the result. */
TAKT_MUST_USE takt_status takt_integer_infer(takt_infer *in, takt_dim columns);
/* Input `which` of `n` minus its zero point, in i32. `after`: number of input axes after the one
 * that a vector of zero points runs along. */
takt_id takt_integer_shifted(takt_graph *g, const takt_node *n, size_t which, int after);
/* The steps after the contraction; `after` as above, for bias and scale. */
takt_id takt_integer_finish(takt_graph *g, const takt_node *n, takt_id sum, int after);
/* Whether `n` requantises by anything but an f32; then its lowering: the same op without that, and
 * the steps after it. */
bool takt_integer_is_other(const takt_graph *g, const takt_node *n);
takt_id takt_integer_lower_other(takt_graph *g, const takt_node *n, int after);

/* ---- element by element ---- */

/* Five attributes that follow each other, of ops that compute bytes from bytes on other grids:
 *     result = rescale(x, multiplier, shift) + zero, clamped to low and high */
enum {
    TAKT_LEVEL_MULTIPLIER,
    TAKT_LEVEL_SHIFT,
    TAKT_LEVEL_ZERO,
    TAKT_LEVEL_LOW,
    TAKT_LEVEL_HIGH,
};

/* The type of the result, if all attributes up to these, which begin with number `first`, are in
 * range: `zeros`, a bit for each, are levels of the inputs. */
TAKT_MUST_USE takt_status takt_integer_infer_levels(takt_infer *in, int first, uint32_t zeros);
takt_id takt_integer_rescaled(takt_graph *g, takt_id x, int64_t multiplier, int64_t shift);
/* The result; `a`: the five attributes. */
takt_id takt_integer_level(takt_graph *g, takt_id x, const takt_attr *a, takt_dtype dtype);

#endif
