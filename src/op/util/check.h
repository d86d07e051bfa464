/* check.h - checks for the inference of structural ops, beyond ir/infer.h.
 *
 * Every function either succeeds or has recorded a failure that names op, input and types.
 */
#ifndef TAKT_OP_UTIL_CHECK_H
#define TAKT_OP_UTIL_CHECK_H

#include "ir/infer.h"
#include "op/ops.h"

/* Sizes in attributes beyond this are refused, so that sums and products of two of them fit. */
#define TAKT_CHECK_BIG (INT64_C(1) << 31)

/* Negative axes count from the end. */
TAKT_MUST_USE takt_status takt_check_axis(takt_infer *in, int64_t axis, int rank, int *out);
/* The list attribute has `count` entries, or none. `what`: the noun for `count`, for messages. */
TAKT_MUST_USE takt_status takt_check_list(takt_infer *in, int attr, int count, const char *what);
/* Every entry of a list (or the number) is in min..max. */
TAKT_MUST_USE takt_status takt_check_range(takt_infer *in, int attr, int64_t min, int64_t max);
/* i32 or i64. */
TAKT_MUST_USE takt_status takt_check_index(takt_infer *in, size_t input);
TAKT_MUST_USE takt_status takt_check_same_dtype(takt_infer *in, size_t a, size_t b);
/* Whether two dimensions can be equal; names unify. Fails only if out of memory. */
TAKT_MUST_USE takt_status takt_check_agree(takt_infer *in, takt_dim a, takt_dim b, bool *agree);
/* Dimension `axis_a` of input a and `axis_b` of input b are the same. */
TAKT_MUST_USE takt_status takt_check_dims(takt_infer *in, size_t a, int axis_a, size_t b,
                                          int axis_b);
/* Input `input` has exactly the dimensions of `want`; `what` is the reason in the message. */
TAKT_MUST_USE takt_status takt_check_shape(takt_infer *in, size_t input, const takt_type *want,
                                           const char *what);
/* A list of dimensions as the shape of the result. */
TAKT_MUST_USE takt_status takt_check_set_shape(takt_infer *in, int attr, takt_type *type);

#endif
