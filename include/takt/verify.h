/**
 * verify.h - guarantees that hold for every input of a model, found before it runs.
 *
 *     takt_check_options options = {.precision = "f16"};
 *     takt_check_summary summary;
 *     takt_precision_check(model, &options, TAKT_FORMAT_TEXT, sink, user, &summary);
 *     if (summary.does > 0) ...   // some value is too large for f16
 *
 * Bounds hold for the bits that Takt computes: the graph that runs, the order in which it adds, and
 * the rounding of every kernel are part of them. docs/guarantees.md says what is proved and what is
 * not.
 *
 * Threads: any; the model is only read.
 */
#ifndef TAKT_VERIFY_H
#define TAKT_VERIFY_H

#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_check_options {
    size_t size;           /**< sizeof(takt_check_options), or 0 */
    const char *precision; /**< "f16" (default), "bf16", "f32" or "int8" */
    const char *sizes;     /**< "batch=8": named dimensions; default 1 each */
    int threads;           /**< default: one per core this process may use */
    /** Values of inputs, dense, with the input's shape; the first dimension may be a multiple of
     *  it, for several runs. Inputs without data have bounds only. */
    const takt_known_input *data;
    size_t data_count;
} takt_check_options;

/** How many values of the model were checked, and what was found. */
typedef struct takt_check_summary {
    size_t values; /**< values of floats, or quantised values */
    size_t does;   /**< values that leave the range: on the data, or on every input */
    size_t may;    /**< values that may leave it, by their bounds */
} takt_check_summary;

/**
 * Reports for every value whether it overflows, underflows or is clipped in another precision,
 * before anything runs in it.
 *
 * Bounds of the inputs come from the model's `require` clauses; an input without one may be
 * anything. With data, values are measured instead. `summary` may be NULL.
 */
TAKT_API TAKT_MUST_USE takt_status takt_precision_check(const takt_model *model,
                                                        const takt_check_options *options,
                                                        takt_format format, takt_sink_fn *sink,
                                                        void *user, takt_check_summary *summary);

/** What takt_model_diff found. */
typedef struct takt_diff_summary {
    size_t matched, unmatched; /**< values of the model that have a counterpart, and others */
    size_t findings;           /**< values where an error originates */
    char node[128];            /**< the first of them; empty if there is none */
    const char *cause;         /**< its cause, static text; "none" if there is none */
} takt_diff_summary;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_diff_options {
    size_t size;       /**< sizeof(takt_diff_options), or 0 */
    const char *sizes; /**< "batch=8": named dimensions of both models; default 1 each */
    /** Values of inputs, dense, with the input's shape or a first dimension that is a multiple of
     *  it, of which the first part is taken. Inputs without data are random. */
    const takt_known_input *data;
    size_t data_count;
    bool all;         /**< report every matched value, not only those that differ */
    double tolerance; /**< smallest difference, relative to the largest value; default 2e-6 */
    takt_diff_summary *summary; /**< receives what was found; may be NULL */
} takt_diff_options;

/** Arrays by name from a file (.npz, .safetensors), such as another engine's values, as a reference
 *  for takt_model_diff: a model without inputs whose outputs they are.
 *
 *  @return TAKT_ERR_IO, TAKT_ERR_FORMAT with the place, TAKT_ERR_MEMORY: `*values` is then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_values_load(takt_ctx *ctx, const char *path,
                                                    takt_model **values);

/**
 * Compares two models value by value, on the same inputs: `takt diff`.
 *
 * Every value of `model` that has a counterpart in `reference` is computed on its own inputs and on
 * the reference's values, so that an error that originates there is distinguished from one that is
 * inherited. Both are evaluated by the interpreter. `reference` may be NULL: it is `model` itself
 * with every float in f64 then, so that what its own types lose is found.
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_diff(const takt_model *reference,
                                                   const takt_model *model,
                                                   const takt_diff_options *options,
                                                   takt_format format, takt_sink_fn *sink,
                                                   void *user);

/** The verdict of takt_model_verify. */
typedef enum takt_proof {
    TAKT_PROOF_UNKNOWN, /**< neither proved nor refuted within the time */
    TAKT_PROOF_FOUND,   /**< the property holds for every input of its box */
    TAKT_PROOF_REFUTED, /**< an input was found, and the model breaks the property on it */
} takt_proof;

/** Zero in any field means the default, so `{0}` is almost valid: a property, or an input, must be
 *  given. */
typedef struct takt_verify_options {
    size_t size;          /**< sizeof(takt_verify_options), or 0 */
    const char *property; /**< path of a VNN-LIB file (1.0 or 2.0, may be compressed by gzip) */
    /** Instead of a property: values of the only input. The greatest output on it must stay the
     *  greatest wherever the input changes by at most `eps`. */
    const takt_tensor_view *input;
    double eps;
    const char *norm;   /**< of the change: "inf" (default) or "2" */
    const char *sizes;  /**< "batch=1": named dimensions; default 1 each */
    const char *method; /**< "ibp", "crown", "alpha" or "search" (default) */
    const char
        *arithmetic;  /**< "f32" (default): the bits that Takt computes; "real": no rounding */
    double timeout_s; /**< default 60 */
    int threads;      /**< default: one per core this process may use */
    const char
        *counterexample;     /**< path of an .npy file for the input that breaks it; NULL: none */
    const char *certificate; /**< path of a certificate to write if it is proved; NULL: none */
    const char *check;       /**< path of a certificate to check instead of searching; NULL: none */
    const char *vnncomp;     /**< path of a result file in the form of VNN-COMP; NULL: none */
    bool (*is_cancelled)(void *user); /**< called between steps; true ends the search; or NULL */
    void *user;
} takt_verify_options;

/** The verdict, and how far the search got. */
typedef struct takt_verify_summary {
    takt_proof verdict;
    double bound;    /**< worst lower bound of the margin; at least 0 where everything is proved */
    double margin;   /**< by how much the counterexample breaks the property */
    size_t regions;  /**< boxes that were bounded */
    double seconds;  /**< of the search */
    bool is_empty;   /**< the property admits no input, so it holds */
    char layer[128]; /**< of an unknown property: the node whose bounds lose most */
    size_t chosen;   /**< around an input: the index of its greatest output */
} takt_verify_summary;

/**
 * Proves that no input of a box leads to unsafe outputs, or finds one that does: `takt verify`.
 *
 * A proof is for the bits that Takt computes with `numerics = exact`, on any machine and with any
 * number of threads (docs/guarantees.md). A counterexample is an input on which a run of the model
 * breaks the property. A certificate is checked by code that shares nothing with the search; an
 * error says why it does not prove the property. `summary` may be NULL.
 *
 * @return TAKT_ERR_UNSUPPORTED if the model has an operation without linear bounds
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_verify(const takt_model *model,
                                                     const takt_verify_options *options,
                                                     takt_format format, takt_sink_fn *sink,
                                                     void *user, takt_verify_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
