/* svm.h - kernels of support vector machines. */
#ifndef TAKT_IO_ONNX_SVM_H
#define TAKT_IO_ONNX_SVM_H

#include "io/onnx/ml.h"

typedef enum takt_svm_kind {
    TAKT_SVM_LINEAR,
    TAKT_SVM_POLY,
    TAKT_SVM_RBF,
    TAKT_SVM_SIGMOID
} takt_svm_kind;

typedef struct takt_svm {
    takt_svm_kind kind;
    double gamma, offset, degree;
} takt_svm;

/* kernel_type and kernel_params; false, with a refusal, if they do not match. */
bool takt_svm_read(takt_call *c, takt_svm *k);
/* [rows, features] and [supports, features] to [rows, supports]. */
takt_id takt_svm_apply(takt_call *c, const takt_svm *k, takt_id x, takt_id support);
/* svm_probability.c: scores of pairs of `classes` in the order (0, 1), (0, 2)… to the probability
 * of each class, [rows, classes]. */
takt_id takt_svm_probabilities(takt_call *c, takt_id scores, int64_t classes);

#endif
