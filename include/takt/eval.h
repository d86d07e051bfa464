/**
 * eval.h - how good a model's outputs are: metrics with 95 % confidence intervals.
 *
 *     takt_evaluation *eval;
 *     takt_evaluation_create(ctx, "top1,auc", &eval);
 *     float scores[2][3];
 *     int64_t classes[2];
 *     takt_tensor_view outputs = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = scores};
 *     takt_tensor_view labels = {.dtype = TAKT_I64, .rank = 1, .dims = {2}, .data = classes};
 *     takt_evaluation_add(eval, &outputs, &labels); // once per batch
 *     takt_metric_result result;
 *     takt_evaluation_result(eval, 0, &result);
 *     printf("%s %.4f\n", result.name, result.value);
 *
 * An evaluation may be used by one thread at a time.
 */
#ifndef TAKT_EVAL_H
#define TAKT_EVAL_H

#include <takt/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_evaluation takt_evaluation;

/** One figure. Intervals of top1 and top5 are Wilson's, those of means Student's, those of f1 and
 *  auc are made by resampling (the same bits every time). Ends are NaN for a single sample. */
typedef struct takt_metric_result {
    const char *name;
    double value;
    takt_interval ci;
    uint64_t samples; /**< rows of the output that were counted */
} takt_metric_result;

/** `metrics` are comma-separated names: top1, top5, f1, auc, mse, mae, ppl.
 *
 *  @return TAKT_ERR_NOT_FOUND for an unknown name; TAKT_ERR_MEMORY */
TAKT_API TAKT_MUST_USE takt_status takt_evaluation_create(takt_ctx *ctx, const char *metrics,
                                                          takt_evaluation **eval);
/** Accepts NULL. */
TAKT_API void takt_evaluation_destroy(takt_evaluation *eval);

/** Outputs of a batch and their targets: class numbers without the output's last axis, or without
 *  axis 1 where only that fits ([batch, classes, rows, columns]), or numbers of the output's shape.
 *  Rows whose class is negative are ignored. After a failure the evaluation can only be destroyed.
 *
 *  @return TAKT_ERR_FORMAT for a class that the output does not have, naming the sample;
 *          TAKT_ERR_ARGUMENT for views that do not match; TAKT_ERR_MEMORY */
TAKT_API TAKT_MUST_USE takt_status takt_evaluation_add(takt_evaluation *eval,
                                                       const takt_tensor_view *output,
                                                       const takt_tensor_view *labels);
/** How many metrics there are. */
TAKT_API size_t takt_evaluation_count(const takt_evaluation *eval);
/** Metric `index` of all batches so far; TAKT_ERR_STATE if there were none. */
TAKT_API TAKT_MUST_USE takt_status takt_evaluation_result(takt_evaluation *eval, size_t index,
                                                          takt_metric_result *result);
/** All of them: `takt eval`. */
TAKT_API TAKT_MUST_USE takt_status takt_evaluation_write(takt_evaluation *eval, takt_format format,
                                                         takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
