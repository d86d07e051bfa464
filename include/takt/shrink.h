/**
 * shrink.h - smaller models: weights and activations as integers.
 *
 *     takt_data *calib;
 *     takt_data_open(ctx, "mnist/", &(takt_data_options){.limit = 100}, &calib);
 *     takt_quantize_options options = {.calib = calib};
 *     takt_model *small;
 *     takt_model_quantize(model, &options, TAKT_FORMAT_TEXT, sink, user, &small);
 *     takt_model_save(small, "small.onnx", NULL);
 *
 * What comes out is an ordinary model: every verb, format and backend takes it. A layer becomes
 * integers only if that is measured to be faster on this machine, unless `size_first` says
 * otherwise; the report tells what was measured and why each layer was taken or left.
 * docs/shrinking.md.
 */
#ifndef TAKT_SHRINK_H
#define TAKT_SHRINK_H

#include <takt/data.h>
#include <takt/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Compares two forms of the same computation, `before` and `after`, ready to run. NULL in options:
 *  takt_session_compare on this machine. Another one may ask a device, or a model of one. */
typedef takt_status takt_shrink_compare_fn(void *user, takt_session *before, takt_session *after,
                                           takt_comparison *comparison);

/** What takt_model_quantize did. */
typedef struct takt_quantize_summary {
    size_t layers;  /**< convolutions and products with weights */
    size_t taken;   /**< that became integers */
    size_t returns; /**< values between layers of integers that lie in memory as floats */
    uint64_t bytes_before, bytes_after; /**< of weights and constants */
    takt_comparison time;               /**< the whole, before and after */
    uint64_t samples;                   /**< that were scored; 0: none */
    uint64_t hits_before, hits_after;   /**< how many of them were right */
} takt_quantize_summary;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_quantize_options {
    size_t size; /**< sizeof(takt_quantize_options), or 0 */
    /** "int8" (default): weights and activations; "w8", "w4" ("int4"): weights in blocks of 64;
     *  "int16x8": activations of 16 bits; "w4a8": weights of 4 bits, activations of 8. */
    const char *type;
    /** How the range of a value is found: "mse" (default), "minmax", "percentile" or
     *  "percentile:99.9", "entropy". */
    const char *method;
    /** Samples of what the model will see: the ranges of activations come from them. Only w8 and w4
     *  do without. Borrowed for the call. */
    const takt_data *calib;
    const takt_data *test; /**< samples with labels to score on; may be NULL */
    const char *metric;    /**< "top1" (default) or "top5" */
    /** "0.5%": at most so much of the score may be lost; NULL: no budget. Layers that lose most for
     *  what they gain are left out until it is met. */
    const char *accuracy_drop;
    /** Whether a layer stays as it is, by its name; NULL: none need. */
    bool (*keeps)(void *user, const char *layer);
    void *keeps_user;
    bool size_first;    /**< take layers that are not measured faster, too */
    bool no_correction; /**< leave biases as they are: by default the mean of the rounding error on
                             the data is taken off them */
    const char *sizes;  /**< "seq=64": named dimensions other than the samples; default 1 each */
    int threads;        /**< default: one per core this process may use */
    uint64_t layer_ns;  /**< time to measure one layer for; default 0.1 s */
    takt_shrink_compare_fn *compare; /**< how times are found; NULL: by running */
    void *compare_user;
    takt_quantize_summary *summary; /**< receives what was done; may be NULL */
} takt_quantize_options;

/**
 * A model whose layers compute on integers: `takt quantize`.
 *
 * The report is written first, then the model is handed out. TAKT_ERR_REQUIREMENT (7503) if the
 * budget cannot be met; the message tells the nearest that can. TAKT_ERR_UNSUPPORTED (7502) if
 * there is no layer to take, TAKT_ERR_ARGUMENT (7501) if the data does not fit. On failure
 * `*quantized` is NULL.
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_quantize(const takt_model *model,
                                                       const takt_quantize_options *options,
                                                       takt_format format, takt_sink_fn *sink,
                                                       void *user, takt_model **quantized);

#ifdef __cplusplus
}
#endif
#endif
