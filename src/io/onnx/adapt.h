/* adapt.h - the helpers that adapters of ONNX operators use. Failures are sticky: they are recorded
 * in the call, and the driver checks once. */
#ifndef TAKT_IO_ONNX_ADAPT_H
#define TAKT_IO_ONNX_ADAPT_H

#include "io/onnx/import.h"

typedef struct takt_ints {
    const int64_t *at;
    size_t count;
    bool is_set;
} takt_ints;

/* ---- attributes: NULL or the fallback if absent ---- */

const takt_pb_attr *takt_onnx_attr(takt_call *c, const char *name);
int64_t takt_onnx_i(takt_call *c, const char *name, int64_t fallback);
double takt_onnx_f(takt_call *c, const char *name, double fallback);
takt_ints takt_onnx_ints(takt_call *c, const char *name);
/* Terminated, in the arena. */
const char *takt_onnx_s(takt_call *c, const char *name, const char *fallback);
bool takt_onnx_is(takt_call *c, const char *name, const char *fallback, const char *value);
const takt_pb_graph *takt_onnx_graph(takt_call *c, const char *name);
/* Index of a string attribute in a NULL-terminated list; refuses others. */
int takt_onnx_choice(takt_call *c, const char *name, const char *fallback,
                     const char *const *values);
/* A data type attribute; `fallback` if absent. */
takt_dtype takt_onnx_to(takt_call *c, const char *name, takt_dtype fallback);

/* ---- inputs ---- */

bool takt_onnx_has(const takt_call *c, size_t i);
/* The tensor; TAKT_NONE if it was left out. Fails for a sequence. */
takt_id takt_onnx_in(takt_call *c, size_t i);
/* Its type; rank 0 if there is none. */
const takt_type *takt_onnx_type(takt_call *c, size_t i);
/* Integers that must be known now. */
takt_ints takt_onnx_known_ints(takt_call *c, size_t i);
/* The attribute, or the input in newer opsets. */
takt_ints takt_onnx_list(takt_call *c, const char *name, size_t input);
double takt_onnx_known_f(takt_call *c, size_t i, double fallback);
const takt_array *takt_onnx_known(takt_call *c, size_t i);
/* Same for floats; refuses others. */
const takt_array *takt_onnx_known_floats(takt_call *c, size_t i);
/* One integer; `fallback` if the input was left out. */
int64_t takt_onnx_known_i(takt_call *c, size_t i, int64_t fallback);
/* Same, or NULL if it is not known; no failure. */
const takt_array *takt_onnx_peek(takt_call *c, size_t i);
/* The one integer or bool of an array; NULL if it is absent, or has several or other values. */
static inline const int64_t *takt_array_one(const takt_array *a)
{
    return a != NULL && a->count == 1 ? a->i : NULL;
}
takt_syms takt_onnx_syms(takt_call *c, size_t i);
/* Same, with negated dimensions among them. */
takt_syms takt_onnx_signed(takt_call *c, size_t i);
/* Elements as dimensions; negative numbers fail. */
const takt_dim *takt_onnx_dims(takt_call *c, size_t i, size_t *count);

/* ---- results ---- */

void takt_onnx_set(takt_call *c, size_t i, takt_id id);
static inline takt_status takt_onnx_done(takt_call *c, takt_id id)
{
    takt_onnx_set(c, 0, id);
    return c->status;
}
/* Refuses the node: "Resize, opset 11: reason". */
takt_status takt_onnx_refuse(takt_call *c, const char *format, ...) TAKT_PRINTF(2, 3);
/* The same for a dimension without a number; mentioned in the hint. */
takt_status takt_onnx_refuse_size(takt_call *c, const char *format, ...) TAKT_PRINTF(2, 3);

/* ---- building ---- */

takt_id takt_onnx_op1(takt_call *c, const takt_op *op, takt_id x, size_t n,
                      const takt_named_attr *attrs);
takt_id takt_onnx_op2(takt_call *c, const takt_op *op, takt_id a, takt_id b, size_t n,
                      const takt_named_attr *attrs);
takt_id takt_onnx_i64s(takt_call *c, const int64_t *v, size_t n);
/* A vector of the dtype of doubles. */
takt_id takt_onnx_floats(takt_call *c, takt_dtype dtype, const double *v, const int64_t *dims,
                         int rank);
/* A scalar of `dtype` with this value. */
takt_id takt_onnx_scalar(takt_call *c, takt_dtype dtype, double value);
takt_id takt_onnx_cast(takt_call *c, takt_id x, takt_dtype dtype);
takt_id takt_onnx_squeeze(takt_call *c, takt_id x, int64_t axis);
takt_id takt_onnx_unsqueeze(takt_call *c, takt_id x, int64_t axis);
takt_id takt_onnx_gather(takt_call *c, takt_id x, takt_id index, int64_t axis);
/* The size of an axis as a scalar: a constant, or known once its name has a number. */
takt_id takt_onnx_size(takt_call *c, takt_id x, int axis);
/* Reshapes to known sizes. */
takt_id takt_onnx_shape(takt_call *c, takt_id x, const int64_t *dims, size_t rank);
/* [C] to [C, 1, 1…], so that it broadcasts along axis 1 of `rank`, which is at least 3. */
takt_id takt_onnx_channel(takt_call *c, takt_id x, int rank);
/* x in u8 with the scale and zero point that its extremes give (dynamic.c). */
takt_id takt_onnx_dynamic(takt_graph *g, takt_id x, takt_id *to_scale, takt_id *to_zero);
/* A matrix of bytes [k, n] with scales and zero points, which are scalars or [n]; zero may be
 * absent. */
typedef struct takt_bytes_matrix {
    takt_id q, scale, zero;
} takt_bytes_matrix;
/* x, quantised that way, times `w`: accumulated in integers, then converted back to floats. */
takt_id takt_onnx_dynamic_matmul(takt_graph *g, takt_id x, const takt_bytes_matrix *w);
/* QuantizeLinear and DequantizeLinear, of any domain. */
TAKT_MUST_USE takt_status takt_onnx_quantizer(takt_call *c);
/* Attribute `name`: as many floats as `dims` say; refuses others. */
takt_id takt_onnx_attr_floats(takt_call *c, const char *name, const int64_t *dims, int rank);
size_t takt_onnx_attr_length(takt_call *c, const char *name); /* 0 if absent */
void *takt_onnx_get(takt_call *c, size_t count, size_t size);
/* Charges operations to the load's budget; refuses the node if they exceed it. */
bool takt_onnx_affords(takt_call *c, double operations);
/* axis + rank if negative; refuses out-of-range values. */
int takt_onnx_axis(takt_call *c, int64_t axis, int rank);

#endif
