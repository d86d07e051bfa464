/* lengths.h - data-dependent sizes, for adapters: names, and the op that finds their numbers.
 *
 * Sizes known during import are plain numbers, as always. Failures are sticky (adapt.h).
 */
#ifndef TAKT_IO_ONNX_LENGTHS_H
#define TAKT_IO_ONNX_LENGTHS_H

#include "io/onnx/adapt.h"
#include "op/util/length.h"

/* Upper bound of a size; memory is planned for it. */
typedef struct takt_onnx_bound {
    takt_dim most, top;
} takt_onnx_bound;

static inline takt_onnx_bound takt_onnx_at_most(takt_dim most)
{
    return (takt_onnx_bound){most, most};
}

/* Whether sizes may be found at run time here: not inside branches and bodies. */
bool takt_onnx_may_find(const takt_call *c);
/* The elements of `n`, i64[count], as dimensions. */
void takt_onnx_lengths(takt_call *c, takt_id n, const takt_onnx_bound *bounds, size_t count,
                       takt_dim *out);
/* The known elements of input `i`, dimensions included; `at` is NULL if none are, which is not a
 * failure. */
takt_syms takt_onnx_peek_syms(takt_call *c, size_t i);
/* One size from a scalar or a vector of one. */
takt_dim takt_onnx_length(takt_call *c, takt_id n, takt_onnx_bound bound);
/* Input `i` as i64[count], with count a number; TAKT_NONE if it is not a vector of integers, or if
 * sizes may not be found at run time here. */
takt_id takt_onnx_vector(takt_call *c, size_t i, size_t *count);
/* Element `k` of a vector as a scalar. */
takt_id takt_onnx_item(takt_call *c, takt_id vector, size_t k);
/* The size of every axis, as scalars. */
void takt_onnx_sizes(takt_call *c, takt_id x, takt_id *sizes);
/* i64 scalars as a vector. */
takt_id takt_onnx_pack(takt_call *c, const takt_id *scalars, size_t count);
/* 0, 1, … */
takt_id takt_onnx_counted(takt_call *c, takt_dim count);
/* Flattens all elements to one axis. */
takt_id takt_onnx_flat(takt_call *c, takt_id x, takt_dim *count);
/* Arithmetic with a number. */
takt_id takt_onnx_with(takt_call *c, const takt_op *op, takt_id a, int64_t b);
/* The first rows of a value that has room for more: `n`, i64[1], is their number. */
takt_id takt_onnx_sized(takt_call *c, takt_id x, takt_dim rows);
/* Per axis of `rank`, i64 0 or 1: whether it is among `axes`, a vector. */
takt_id takt_onnx_is_axis(takt_call *c, takt_id axes, size_t count, int rank);
/* For each axis of `rank`: `values` if `axes` lists it, otherwise `others`. */
takt_id takt_onnx_spread(takt_call *c, takt_id values, takt_id axes, size_t count, int rank,
                         takt_id others);
/* Input 0 split along the attribute `axis` into `count` parts of these sizes, i64[count]: they are
 * contiguous and cover the whole axis. */
TAKT_MUST_USE takt_status takt_onnx_parts(takt_call *c, takt_id sizes, size_t count,
                                          takt_id *parts);
/* floor(a / b) and a - b floor(a / b) of integers, b not 0. */
takt_id takt_onnx_floordiv(takt_call *c, takt_id a, takt_id b);
takt_id takt_onnx_modulo(takt_call *c, takt_id a, takt_id b);

#endif
