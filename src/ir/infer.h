/* infer.h - shared by the inference functions of many ops: broadcasting, checks, messages. */
#ifndef TAKT_IR_INFER_H
#define TAKT_IR_INFER_H

#include "ir/graph.h"

/* The rule of element-wise ops: shapes broadcast as in NumPy, the result has the dtype of the
 * inputs, or bool for predicates. graph.c calls it if a record has no `infer`. */
TAKT_MUST_USE takt_status takt_infer_elementwise(takt_infer *in);

/* Fails with "<op>: <sentence>: lhs is f32[4, 3], rhs is f32[5, 2]": the inputs are added. */
takt_status takt_infer_fail(takt_infer *in, takt_error_id id, const char *format, ...)
    TAKT_PRINTF(3, 4);

/* The record's name of input `index`, or "input 3" in `buffer`. */
enum { TAKT_INPUT_TEXT = 32 };
const char *takt_infer_input(const takt_infer *in, size_t index,
                             char buffer[static TAKT_INPUT_TEXT]);

/* Whether the optional input `index` was given. */
static inline bool takt_infer_has(const takt_infer *in, size_t index)
{
    return index < in->in_count && in->in[index] != TAKT_NONE;
}

/* Input `index` must have an element type of `set`; `words` says which: "a float type", "i32 or
 * i64". */
TAKT_MUST_USE takt_status takt_infer_dtype(takt_infer *in, size_t index, takt_dtype_set set,
                                           const char *words);
/* Input `index` must have at least `min` and at most `max` dimensions. */
TAKT_MUST_USE takt_status takt_infer_rank(takt_infer *in, size_t index, int min, int max);
/* Inputs `a` and `b` must have the same dimensions; unifies names. */
TAKT_MUST_USE takt_status takt_infer_same_shape(takt_infer *in, size_t a, size_t b);
/* Input `index` must broadcast into `shape` without enlarging it; unifies names. */
TAKT_MUST_USE takt_status takt_infer_fits(takt_infer *in, size_t index, const takt_type *shape);
/* Input `index` must be a vector of `size` elements. */
TAKT_MUST_USE takt_status takt_infer_vector(takt_infer *in, size_t index, takt_dim size);

/* A list of axes, negative ones from the end, as flags; duplicates are an error. */
TAKT_MUST_USE takt_status takt_infer_axes(takt_infer *in, const takt_attr *axes, int rank,
                                          bool is_axis[static TAKT_MAX_RANK]);

#endif
