/* loss.c - the loss of distillation on logits in the caller's memory. */
#include <math.h>

#include <takt/shrink.h>

#include "base/error.h"
#include "base/options.h"

/* A dense array in the caller's memory, with the first `rank` sizes of `like`. */
static bool is_dense(const takt_tensor_view *v, takt_dtype dtype, const takt_tensor_view *like,
                     int rank)
{
    int64_t stride = 1;
    if (v == NULL || v->data == NULL || v->dtype != dtype || v->rank != rank || rank < 0 ||
        rank > TAKT_MAX_RANK)
        return false;
    for (int d = rank - 1; d >= 0; d--) {
        if (v->dims[d] <= 0 || v->dims[d] != like->dims[d] ||
            (v->strides[d] != 0 && v->strides[d] != stride))
            return false;
        stride *= v->dims[d];
    }
    return true;
}

/* The logarithm of the sum of e^(x / t). */
static double log_sum(const float *x, int64_t n, double t)
{
    double sum = 0;
    float most = x[0];
    for (int64_t i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(((double)x[i] - (double)most) / t);
    return (double)most / t + log(sum);
}

/* KL(softmax(teacher / t) || softmax(student / t)). */
static double divergence(const float *student, const float *teacher, int64_t n, double t)
{
    const double have = log_sum(student, n, t), want = log_sum(teacher, n, t);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double p = (double)teacher[i] / t - want, q = (double)student[i] / t - have;
        const double part = exp(p);
        sum += part != 0 ? part * (p - q) : 0; /* p may be -inf */
    }
    return sum;
}

/* The first row whose label is not a class; -1: none. */
static int64_t wrong_label(const int64_t *labels, int64_t rows, int64_t classes)
{
    for (int64_t r = 0; r < rows; r++)
        if (labels[r] < 0 || labels[r] >= classes)
            return r;
    return -1;
}

takt_status takt_distillation_loss(takt_ctx *ctx, const takt_tensor_view *student,
                                   const takt_tensor_view *teacher, const takt_tensor_view *labels,
                                   const takt_distill_options *options, double *loss)
{
    takt_distill_options o = {0};
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(takt_options_read(ctx, "takt_distill_options", options, &o, sizeof o));
    const double t = o.temperature != 0 ? o.temperature : 2, some = o.alpha != 0 ? o.alpha : 0.5,
                 alpha = o.labels_only ? 0 : some;
    if (student == NULL || student->rank < 1 || loss == NULL ||
        !is_dense(student, TAKT_F32, student, student->rank) ||
        !is_dense(teacher, TAKT_F32, student, student->rank) ||
        (labels != NULL && !is_dense(labels, TAKT_I64, student, student->rank - 1)))
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_distillation_loss: logits are dense f32 of one shape, labels i64 "
                         "of that shape without its last axis");
    if (!(t > 0) || !isfinite(t) || !(alpha >= 0 && alpha <= 1))
        return takt_fail(ctx, TAKT_E_OPTION,
                         "a temperature is above 0 and finite, alpha from 0 to 1, not %g and %g", t,
                         alpha);
    const int64_t n = student->dims[student->rank - 1];
    int64_t rows = 1;
    for (int d = 0; d + 1 < student->rank; d++)
        rows *= student->dims[d];
    const int64_t *class = labels != NULL ? labels->data : NULL;
    const int64_t wrong = class != NULL ? wrong_label(class, rows, n) : -1;
    if (wrong >= 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "takt_distillation_loss: label %lld is %lld, of %lld classes",
                         (long long)wrong, (long long)class[wrong], (long long)n);
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        const float *have = (const float *)student->data + r * n,
                    *want = (const float *)teacher->data + r * n;
        sum += alpha * t * t * divergence(have, want, n, t);
        if (class != NULL)
            sum += (1 - alpha) * (log_sum(have, n, 1) - (double)have[class[r]]);
    }
    *loss = sum / (double)rows;
    return TAKT_OK;
}
