/**
 * deviation.h - the error that an option causes, compared with f32.
 *
 *     takt_plan_options options = {.precision = "bf16"};
 *     takt_deviation d;
 *     takt_measure_deviation(model, &options, NULL, &d);   // d.max_abs, d.rms_relative
 *
 * Threads: any; the model is only read.
 */
#ifndef TAKT_DEVIATION_H
#define TAKT_DEVIATION_H

#include <takt/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What takt_measure_deviation runs on: the inputs that `session` was bound to (a session of the
 *  same model and sizes), or, if it is NULL, random ones by `seed`. */
typedef struct takt_deviation_input {
    takt_session *session;
    uint64_t seed;
} takt_deviation_input;

/** How far the results of a plan are from those of the same model in f32. */
typedef struct takt_deviation {
    double max_abs;      /**< largest difference of two finite elements */
    double rms_relative; /**< sqrt(sum of squared differences / sum of squares in f32) */
    size_t count;        /**< elements that were compared */
    size_t unlike;       /**< elements where only one of the two is finite */
    char output[64];     /**< position of the largest difference */
    const char *note;    /**< an option that changes nothing here, and why; or NULL */
} takt_deviation;

/** Makes two plans, one with `options` and one with the same options except `precision` and
 *  `numerics`, runs each once from its initial state on the same inputs, and compares the outputs.
 *  `input` may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_measure_deviation(const takt_model *model,
                                                          const takt_plan_options *options,
                                                          const takt_deviation_input *input,
                                                          takt_deviation *deviation);

#ifdef __cplusplus
}
#endif
#endif
