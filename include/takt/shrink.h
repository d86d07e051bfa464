/**
 * shrink.h - smaller models: integers, fewer channels, thin factors.
 *
 *     takt_data *calib;
 *     takt_data_open(ctx, "mnist/", &(takt_data_options){.limit = 100}, &calib);
 *     takt_quantize_options options = {.calib = calib};
 *     takt_model *small;
 *     takt_model_quantize(model, &options, TAKT_FORMAT_TEXT, sink, user, &small);
 *     takt_model_save(small, "small.onnx", NULL);
 *
 * The result is an ordinary model, which every verb, format and backend accepts. A layer is
 * converted to integers only if that is measured to be faster on this machine, unless `size_first`
 * is set; the report lists the measurements and why each layer was converted or kept.
 * docs/shrinking.md.
 *
 * Threads: any; the model that is given is only read.
 */
#ifndef TAKT_SHRINK_H
#define TAKT_SHRINK_H

#include <takt/data.h>
#include <takt/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Compares two forms of the same computation, `before` and `after`, ready to run. NULL in options:
 *  takt_session_compare on this machine. A replacement may measure on a device or estimate with a
 *  cost model. */
typedef takt_status takt_shrink_compare_fn(void *user, takt_session *before, takt_session *after,
                                           takt_comparison *comparison);

/** Progress of a long job: `done` of `total` in the phase called `what` ("observing", "scaling",
 *  "rounding", "measuring", "scoring", "factoring"). A job has several phases, and each begins at
 * 0. Called on the thread that started the job. */
typedef void takt_progress_fn(void *user, const char *what, uint64_t done, uint64_t total);

/** What takt_model_quantize did. */
typedef struct takt_quantize_summary {
    size_t layers;    /**< convolutions and products with weights */
    size_t taken;     /**< layers that were converted to integers */
    size_t equalized; /**< pairs of neighbours that were scaled against each other */
    size_t returns;   /**< values between integer layers that are stored as floats */
    uint64_t bytes_before, bytes_after; /**< of weights and constants */
    takt_comparison time;               /**< the whole, before and after */
    uint64_t samples;                   /**< samples that were scored; 0: none */
    uint64_t hits_before, hits_after;   /**< correct predictions among them */
    size_t smoothed;                    /**< norms whose outliers were moved into weights */
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
    /** Representative samples, from which the ranges of activations are derived. Only w8 and w4 do
     * not need them. Borrowed for the call. */
    const takt_data *calib;
    /** How weights are rounded: to "nearest" (default); up or down so that the layer's
     *  result on inputs like those of `calib` changes least, "adaround"; one after another so that
     *  each makes up for the errors before it, "gptq"; or, for w4 and w8, to nearest after weights
     *  that meet large inputs were scaled up, and those inputs down, "awq". */
    const char *rounding;
    const takt_data *test; /**< samples with labels to score on; may be NULL */
    const char *metric;    /**< "top1" (default) or "top5" */
    /** "0.5%": the largest accepted loss of the score; NULL: no budget. Layers with the worst ratio
     * of loss to gain are left out until it is met. */
    const char *accuracy_drop;
    /** Whether a layer is left unchanged, by its name; NULL: none is. */
    bool (*keeps)(void *user, const char *layer);
    void *keeps_user;
    bool size_first;    /**< take layers that are not measured faster, too */
    bool no_correction; /**< leave biases unchanged: by default the mean rounding error on the data
                         is subtracted from them */
    bool equalize;      /**< scale channels of neighbouring layers against each other first, so that
                             they share a grid well */
    const char *sizes;  /**< "seq=64": named dimensions other than the samples; default 1 each */
    int threads;        /**< default: one per core this process may use */
    uint64_t layer_ns;  /**< time to measure one layer for; default 0.1 s */
    takt_shrink_compare_fn *compare; /**< how times are found; NULL: by running */
    void *compare_user;
    takt_quantize_summary *summary; /**< receives what was done; may be NULL */
    bool whole; /**< results of layers are integers even where floats follow, as TensorFlow Lite's
                   operators require */
    double smooth; /**< 0.5: outliers between norms and products are first moved into the weights,
                      by this power of their size; 0: they are not */
    takt_progress_fn *progress; /**< called with the progress; may be NULL */
    void *progress_user;
} takt_quantize_options;

/**
 * A model whose layers compute on integers: `takt quantize`.
 *
 * The report is written before the model is returned. TAKT_ERR_REQUIREMENT (7503) if the budget
 * cannot be met; the message names the nearest budget that can. TAKT_ERR_UNSUPPORTED (7502) if no
 * layer can be converted, TAKT_ERR_ARGUMENT (7501) if the data does not fit. On failure
 * `*quantized` is NULL.
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_quantize(const takt_model *model,
                                                       const takt_quantize_options *options,
                                                       takt_format format, takt_sink_fn *sink,
                                                       void *user, takt_model **quantized);

/* ---- trained as integers ---- */

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_aware_options {
    size_t size;            /**< sizeof(takt_aware_options), or 0 */
    const char *type;       /**< as in takt_quantize_options; default "int8" */
    const takt_data *calib; /**< samples that ranges of activations begin with: the first 256;
                                 "w8" and "w4" need none. Borrowed for the call */
    /** Whether a layer stays f32, by its name; NULL: none does. */
    bool (*keeps)(void *user, const char *layer);
    void *keeps_user;
    const char *sizes; /**< "seq=64": named dimensions other than the samples; default 1 each */
    int threads;       /**< default: one per core this process may use */
    bool whole;        /**< results of layers are integers even where floats follow */
} takt_aware_options;

/**
 * A model to train as the integers it will become: `takt train --qat`.
 *
 * Weights, biases and the values between layers are rounded in every training step; gradients go
 * straight through the rounding. Batch normalisation is folded into the weights first, with the
 * statistics that it has. Ranges of activations follow the batches. Train the result with
 * takt_trainer_create, export to it, then call takt_model_aware_convert. TAKT_ERR_UNSUPPORTED
 * (7502) if no layer can be converted, TAKT_ERR_ARGUMENT (7501) if the data does not fit.
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_aware(const takt_model *model,
                                                    const takt_aware_options *options,
                                                    takt_model **aware);
/** The integers of such a model, as takt_model_quantize makes them; their results are bit for bit
 *  those of `aware`. TAKT_ERR_UNSUPPORTED (7502) for another model. */
TAKT_API TAKT_MUST_USE takt_status takt_model_aware_convert(const takt_model *aware,
                                                            takt_model **integers);

/* ---- language models in blocks ---- */

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_text_quantize_options {
    size_t size;         /**< sizeof(takt_text_quantize_options), or 0 */
    const char *type;    /**< as in takt_text_convert */
    const char *imatrix; /**< importance matrix, from takt_imatrix_write or llama.cpp (GGUF); may be
                              NULL. Errors are weighted by it, which pays at 4 bits and below */
    /** The type of a tensor, by its name, such as "Q6_K"; NULL selects `type`. */
    const char *(*type_of)(void *user, const char *tensor);
    void *user;
    uint64_t shard_bytes; /**< bytes of tensors in one part, as llama-gguf-split cuts files:
                               NAME-00001-of-00003.gguf; default: one file */
    size_t *shards;       /**< receives how many parts were written; may be NULL */
} takt_text_quantize_options;

/** Writes a language model, GGUF file or folder, as a GGUF file whose matrices are blocks:
 *  `takt quantize --type Q4_K`. Without an importance matrix blocks have the bytes of ggml's
 *  reference. Rows that a type's blocks do not divide get a smaller type, or F16. TAKT_ERR_ARGUMENT
 *  (7501) if the importance matrix belongs to another model. */
TAKT_API TAKT_MUST_USE takt_status takt_text_quantize(takt_ctx *ctx, const char *from,
                                                      const char *to,
                                                      const takt_text_quantize_options *options);

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_imatrix_options {
    size_t size;       /**< sizeof(takt_imatrix_options), or 0 */
    int64_t context;   /**< tokens that are read at a time; default 512 */
    int threads;       /**< default: one per core this process may use */
    const char *about; /**< where the tokens come from, written into the file; may be NULL */
    size_t *matrices;  /**< receives how many matrices were seen; may be NULL */
} takt_imatrix_options;

/** Reads tokens with a language model and writes the sums of squared inputs of each column of its
 *  matrices: an importance matrix in GGUF, which llama.cpp reads as well. Use a model of F32 or
 *  F16. TAKT_ERR_ARGUMENT (7501) for fewer than two tokens. */
TAKT_API TAKT_MUST_USE takt_status takt_imatrix_write(takt_ctx *ctx, const char *model,
                                                      const int32_t *ids, size_t count,
                                                      const takt_imatrix_options *options,
                                                      const char *to);

/* ---- fewer channels ---- */

/** What takt_model_prune did. */
typedef struct takt_prune_summary {
    size_t groups;                            /**< layers whose channels go together */
    uint64_t channels_before, channels_after; /**< of all groups */
    uint64_t zeros;                           /**< single weights that became zero */
    uint64_t parameters_before, parameters_after;
    uint64_t bytes_before, bytes_after;
    double macs_before, macs_after; /**< multiply-adds of one run */
    takt_comparison time;           /**< the whole, before and after */
} takt_prune_summary;

/** Zero in any field means the default, so `{0}` is always valid, but for the amount. */
typedef struct takt_prune_options {
    size_t size;           /**< sizeof(takt_prune_options), or 0 */
    double amount;         /**< 0.3: remove 30 % of the channels of every group, rounded down, then
                          to `multiple` */
    const char *criterion; /**< which channels go first: "magnitude" (default), by all weights of a
                              channel; "bn", by the scale of its batch normalisation, where it has
                              one; or "taylor", by the change of the loss on `data` */
    const takt_data *data; /**< samples with labels, for "taylor"; borrowed for the call */
    bool unstructured;     /**< single weights become zero instead; the report has the gain */
    /** Whether a layer keeps all its channels, by its name; NULL: none does. */
    bool (*keeps)(void *user, const char *layer);
    void *keeps_user;
    const char *sizes; /**< "batch=8": named dimensions for times and counts; default 1 each */
    int threads;       /**< default: one per core this process may use */
    uint64_t max_ns;   /**< time to measure for; default 0.5 s */
    takt_shrink_compare_fn *compare; /**< how times are found; NULL: by running */
    void *compare_user;
    takt_prune_summary *summary; /**< receives what was done; may be NULL */
    /** A group of at least four times this number keeps a multiple of it, because kernels compute
     * that many channels at once; default 4, 1: any number. */
    int64_t multiple;
    /** Removes `amount` of all channels: the least important ones relative to the mean of their
     * group. Each group keeps a tenth. */
    bool is_global;
} takt_prune_options;

/**
 * A model without its least important channels: `takt prune`.
 *
 * A channel goes with everything that belongs to it: columns of the next layer, scales of norms,
 * the other branch of a residual, its place in a concatenation, the gates and the state of a
 * recurrent unit; heads of attention go as a whole.
 * Channels that reach an input or an output of the model are kept. Parameters stay parameters, so
 * that training can continue. TAKT_ERR_ARGUMENT (7504) if a layer would lose its last channel,
 * TAKT_ERR_UNSUPPORTED (7502) if nothing can be removed. On failure `*pruned` is NULL.
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_prune(const takt_model *model,
                                                    const takt_prune_options *options,
                                                    takt_format format, takt_sink_fn *sink,
                                                    void *user, takt_model **pruned);

/* ---- thin factors ---- */

/** What takt_model_lowrank did. */
typedef struct takt_lowrank_summary {
    size_t layers, taken;
    uint64_t parameters_before, parameters_after;
    takt_comparison time; /**< the whole, before and after */
} takt_lowrank_summary;

/** Either an energy or a rank must be given; zero in any other field means the default. */
typedef struct takt_lowrank_options {
    size_t size;   /**< sizeof(takt_lowrank_options), or 0 */
    double energy; /**< 0.99: the lowest rank that keeps 99 % of the squared singular values */
    int64_t rank;  /**< or the rank itself */
    /** Whether a layer is left unchanged, by its name; NULL: none is. */
    bool (*keeps)(void *user, const char *layer);
    void *keeps_user;
    bool size_first;                 /**< take layers that are not measured faster, too */
    const char *sizes;               /**< "batch=8": named dimensions; default 1 each */
    int threads;                     /**< default: one per core this process may use */
    uint64_t layer_ns;               /**< time to measure one layer for; default 0.1 s */
    takt_shrink_compare_fn *compare; /**< how times are found; NULL: by running */
    void *compare_user;
    takt_lowrank_summary *summary; /**< receives what was done; may be NULL */
    takt_progress_fn *progress;    /**< called with the progress; may be NULL */
    void *progress_user;
} takt_lowrank_options;

/**
 * A model whose products and convolutions are factored into two thinner ones: `takt lowrank`.
 *
 * The factors come from singular values in f64. A layer is replaced only if that is measured to be
 * faster, or, with size_first, if it has fewer parameters. TAKT_ERR_ARGUMENT (7505) for a rank of
 * 0, TAKT_ERR_UNSUPPORTED (7502) if no layer was replaced. On failure `*factored` is NULL.
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_lowrank(const takt_model *model,
                                                      const takt_lowrank_options *options,
                                                      takt_format format, takt_sink_fn *sink,
                                                      void *user, takt_model **factored);

/* ---- from a larger model ---- */

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_distill_options {
    size_t size;        /**< sizeof(takt_distill_options), or 0 */
    double temperature; /**< of both softmaxes; default 2 */
    double alpha;       /**< weight of the teacher, labels have the rest; default 0.5 */
    bool labels_only;   /**< alpha is 0 */
} takt_distill_options;

/**
 * A model to train a student with: the student, its teacher with weights that stay, and an output
 * "loss" of both and of the input "labels", which is what takt_trainer_create minimises.
 *
 *     alpha * T^2 * KL(softmax(teacher / T) || softmax(student / T)) + (1 - alpha) * cross entropy
 *
 * The student must have been loaded for training. A softmax at the end of either is left out of the
 * loss. TAKT_ERR_SHAPE (7506) if inputs or classes differ. After the training,
 * takt_model_copy_weights brings the weights back to the student.
 */
TAKT_API TAKT_MUST_USE takt_status takt_model_distill(const takt_model *student,
                                                      const takt_model *teacher,
                                                      const takt_distill_options *options,
                                                      takt_model **both);
/** Copies weights and states by name, where both models have them in the same size. Existing plans
 *  of `to` keep the old values.
 *
 *  @return TAKT_ERR_NOT_FOUND if they have none in common: `to` is then unchanged */
TAKT_API TAKT_MUST_USE takt_status takt_model_copy_weights(takt_model *to, const takt_model *from);

/* ---- single arrays ---- */

/** Rounds every element of `w` to a grid of 2^bits levels that spans all of them, as f32. Symmetric
 *  grids have zero in their middle, others where it fits best. Both are dense f32 of one
 *  shape and may be the same; 2 to 16 bits.
 *
 *  @return TAKT_ERR_ARGUMENT for other bits or views, or an element that is not finite; nothing is
 *  then written */
TAKT_API TAKT_MUST_USE takt_status takt_fake_quantize(takt_ctx *ctx, const takt_tensor_view *w,
                                                      int bits, bool symmetric,
                                                      const takt_tensor_view *out);
/** The product u v of thin matrices that is nearest to `w`: [m, n] into [m, rank] and [rank, n],
 *  all dense f32. `error` receives the norm of the difference over that of `w`; may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_low_rank(takt_ctx *ctx, const takt_tensor_view *w,
                                                 const takt_tensor_view *u,
                                                 const takt_tensor_view *v, double *error);

/** The loss of takt_model_distill on the logits of a student and a teacher, the mean over all rows:
 *  dense f32 of one shape, classes last. `labels`, i64 class numbers of that shape without its last
 *  axis, may be NULL: then alpha times the teacher's part is all. */
TAKT_API TAKT_MUST_USE takt_status takt_distillation_loss(
    takt_ctx *ctx, const takt_tensor_view *student, const takt_tensor_view *teacher,
    const takt_tensor_view *labels, const takt_distill_options *options, double *loss);

/** Weights in a block type of ggml, "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL" or "Q2_K" to
 *  "Q6_K", with the bytes that its reference writes. Rows are a multiple of 32 long, those of K
 * types of 256. `needed` receives the size; with `to` NULL that is all. */
TAKT_API TAKT_MUST_USE takt_status takt_block_quantize(takt_ctx *ctx, const char *type,
                                                       const takt_tensor_view *w, void *to,
                                                       size_t size, size_t *needed);

#ifdef __cplusplus
}
#endif
#endif
