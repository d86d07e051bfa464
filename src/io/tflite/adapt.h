/* adapt.h - the helpers that adapters of TensorFlow Lite's operators use. Failures are sticky: they
 * are recorded in the call, and the driver checks once. */
#ifndef TAKT_IO_TFLITE_ADAPT_H
#define TAKT_IO_TFLITE_ADAPT_H

#include "io/tflite/import.h"

typedef struct takt_tfl_ints {
    const int64_t *at;
    size_t count;
} takt_tfl_ints;

/* ---- options: the field's number in the schema; the fallback if absent ---- */

int32_t takt_tfl_i32(takt_tfl_call *c, int field, int32_t fallback);
uint8_t takt_tfl_u8(takt_tfl_call *c, int field, uint8_t fallback);
float takt_tfl_f32(takt_tfl_call *c, int field, float fallback);
takt_tfl_ints takt_tfl_list(takt_tfl_call *c, int field);
bool takt_tfl_is(const takt_tfl_call *c, const char *name);

/* ---- inputs ---- */

bool takt_tfl_has(const takt_tfl_call *c, size_t i);
/* The value; TAKT_NONE if it was left out, or after a failure. */
takt_id takt_tfl_in(takt_tfl_call *c, size_t i);
/* Refuses the operator if it is absent. */
takt_id takt_tfl_need(takt_tfl_call *c, size_t i);
/* As the file describes it; an empty tensor if it was left out. */
const takt_tfl_tensor *takt_tfl_tensor_in(const takt_tfl_call *c, size_t i);
const takt_tfl_tensor *takt_tfl_tensor_out(const takt_tfl_call *c, size_t i);
/* The type of the value; a scalar if there is none. */
takt_type takt_tfl_type(takt_tfl_call *c, size_t i);
/* Its elements if known before the run; else NULL. */
const takt_array *takt_tfl_peek(takt_tfl_call *c, size_t i);
/* Integers that must be known. */
takt_tfl_ints takt_tfl_known(takt_tfl_call *c, size_t i);
int64_t takt_tfl_known_one(takt_tfl_call *c, size_t i);
double takt_tfl_known_f(takt_tfl_call *c, size_t i);

/* ---- results ---- */

void takt_tfl_set(takt_tfl_call *c, size_t i, takt_id id);
takt_status takt_tfl_done(takt_tfl_call *c, takt_id id);
/* Sets the next value of input `i`, which is a variable. */
void takt_tfl_next(takt_tfl_call *c, size_t i, takt_id id);
/* Refuses the operator: "CONV_2D: reason". */
takt_status takt_tfl_refuse(takt_tfl_call *c, const char *format, ...) TAKT_PRINTF(2, 3);
/* Nothing has failed so far. */
bool takt_tfl_good(takt_tfl_call *c);

/* ---- building ---- */

takt_id takt_tfl_op1(takt_tfl_call *c, const takt_op *op, takt_id x, size_t n,
                     const takt_named_attr *attrs);
takt_id takt_tfl_op2(takt_tfl_call *c, const takt_op *op, takt_id a, takt_id b, size_t n,
                     const takt_named_attr *attrs);
/* Constants: `v` has as many elements as `dims` say. */
takt_id takt_tfl_make_i(takt_tfl_call *c, takt_dtype dtype, const int64_t *v, const int64_t *dims,
                        int rank);
takt_id takt_tfl_make_f(takt_tfl_call *c, takt_dtype dtype, const double *v, const int64_t *dims,
                        int rank);
takt_id takt_tfl_number(takt_tfl_call *c, takt_dtype dtype, double value);
takt_id takt_tfl_cast(takt_tfl_call *c, takt_id x, takt_dtype dtype);
takt_id takt_tfl_shape(takt_tfl_call *c, takt_id x, const int64_t *dims, int rank);
takt_id takt_tfl_squeeze(takt_tfl_call *c, takt_id x, int64_t axis);
takt_id takt_tfl_unsqueeze(takt_tfl_call *c, takt_id x, int64_t axis);
takt_id takt_tfl_gather(takt_tfl_call *c, takt_id x, takt_id index, int64_t axis);
takt_id takt_tfl_clip(takt_tfl_call *c, takt_id x, double low, double high);
/* Padded by `value` before and after each axis. */
takt_id takt_tfl_pad(takt_tfl_call *c, takt_id x, const int64_t *before, const int64_t *after,
                     double value);
/* The fused activation of floats: field of the options' value. */
takt_id takt_tfl_activate(takt_tfl_call *c, takt_id x, int activation);

/* axis + rank if negative; refuses out-of-range values. */
int takt_tfl_axis(takt_tfl_call *c, int64_t axis, int rank);
/* Zeroed memory for tables; bounded by the length of the file. */
void *takt_tfl_get(takt_tfl_call *c, size_t count, size_t size);

enum {
    TAKT_TFL_NONE,
    TAKT_TFL_RELU,
    TAKT_TFL_RELU_N1,
    TAKT_TFL_RELU6,
    TAKT_TFL_TANH,
    TAKT_TFL_SIGN
};

#endif
