/* affine.h - shared by quantize and dequantize: scale and zero point per tensor or per axis. */
#ifndef TAKT_OP_UTIL_AFFINE_H
#define TAKT_OP_UTIL_AFFINE_H

#include "op/ops.h"

/* Range of integers of a quantised tensor. */
#define TAKT_QUANTISED                                                                             \
    (TAKT_INTS | TAKT_IN(TAKT_I2) | TAKT_IN(TAKT_U2) | TAKT_IN(TAKT_I4) | TAKT_IN(TAKT_U4))

/* Checks scale (input 1) and zero (input 2, optional) against x and the quantised type. */
TAKT_MUST_USE takt_status takt_affine_infer(takt_infer *in, int64_t axis, takt_dtype quantised);

/* The scale and zero point of one element. */
typedef struct takt_affine {
    double scale;
    int64_t zero;
} takt_affine;
takt_affine takt_affine_at(const takt_eval *e, int64_t axis, size_t element);
/* A parameter of rank 1 in a shape that broadcasts along the axis of x. */
takt_id takt_affine_spread(takt_graph *g, takt_id parameter, const takt_type *x, int64_t axis);

#endif
