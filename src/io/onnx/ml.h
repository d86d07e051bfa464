/* ml.h - shared by the models of ai.onnx.ml: scores, their transforms, and labels.
 *
 * The standard leaves much open: two classes with one score, or one score with a transform that
 * compares scores. There the results follow onnxruntime, if it supports the case.
 */
#ifndef TAKT_IO_ONNX_ML_H
#define TAKT_IO_ONNX_ML_H

#include "io/onnx/adapt.h"

/* post_transform, numbered as in TreeEnsemble. */
typedef enum takt_ml_post {
    TAKT_ML_NONE,
    TAKT_ML_SOFTMAX,
    TAKT_ML_LOGISTIC,
    TAKT_ML_SOFTMAX_ZERO,
    TAKT_ML_PROBIT,
} takt_ml_post;

/* Numbers of an attribute: a list of floats, or a tensor. */
typedef struct takt_numbers {
    double *at;
    size_t count;
} takt_numbers;

takt_ml_post takt_ml_post_of(takt_call *c);
/* Input 0 as [rows, features] of `dtype`: a vector is one row. TAKT_NONE, with a refusal, if it has
 * another rank or an unknown width. */
takt_id takt_ml_rows(takt_call *c, takt_dtype dtype);
/* [rows, n] scores, n > 1 unless the transform treats every score separately. */
takt_id takt_ml_transform(takt_call *c, takt_id scores, takt_ml_post post);
/* A single score: only PROBIT changes it. */
takt_id takt_ml_transform_one(takt_call *c, takt_id score, takt_ml_post post);
/* [rows, 1] to [rows, 2]: the score belongs to the second class; the first gets 1 - s, or -s. */
takt_id takt_ml_pair(takt_call *c, takt_id score, takt_ml_post post, bool is_opposite);
/* Index of the largest in each row, the first on ties: i64 [rows]. */
takt_id takt_ml_best(takt_call *c, takt_id scores);
/* 0 or 1 in each row: whether its score is above `limit`. */
takt_id takt_ml_above(takt_call *c, takt_id score, double limit);
/* Attribute `ints`; refuses a model whose labels are in `strings`. */
takt_ints takt_ml_labels(takt_call *c, const char *ints, const char *strings);
takt_id takt_ml_named(takt_call *c, takt_ints labels, takt_id index);
/* Attribute `name`, or the tensor `tensor` (may be NULL). */
takt_numbers takt_ml_numbers(takt_call *c, const char *name, const char *tensor);
/* A vector of all elements; their number must be known. */
takt_id takt_ml_flat(takt_call *c, takt_id x);
/* The tensor attribute as a constant of its own type; TAKT_NONE if it is absent. */
takt_id takt_ml_tensor(takt_call *c, const char *name);

#endif
