/**
 * report.h - models, plans and sessions described, as texts, JSON and pictures.
 *
 *     takt_model_summary(model, "batch=8", TAKT_FORMAT_TEXT, sink, user);
 *     takt_plan_describe(plan, TAKT_FORMAT_JSON, sink, user);
 *
 * Link with libtakt-measure. A report goes to `sink`; if that refuses it, the call fails with
 * TAKT_ERR_IO. What is described stays as it is.
 *
 * Threads: any; what is described is only read.
 */
#ifndef TAKT_REPORT_H
#define TAKT_REPORT_H

#include <takt/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models ---- */

/** Lists all nodes of a model in another format that Takt cannot import, each with type, opset,
 *  reason and hint: `takt ops model.onnx`. The report is written if the model loads, or if such
 *  nodes are why it does not; then the first one's failure is returned. */
TAKT_API TAKT_MUST_USE takt_status takt_model_check(takt_ctx *ctx, const char *path,
                                                    const takt_load_options *options,
                                                    takt_format format, takt_sink_fn *sink,
                                                    void *user);
/** Inputs, outputs, parameters, operations, arithmetic: `takt inspect`. */
TAKT_API TAKT_MUST_USE takt_status takt_model_inspect(const takt_model *model, takt_format format,
                                                      takt_sink_fn *sink, void *user);
/** One row per layer: name, output shape, parameters, multiply-adds. `sizes` ("batch=8,seq=128")
 *  sets named dimensions; may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_model_summary(const takt_model *model, const char *sizes,
                                                      takt_format format, takt_sink_fn *sink,
                                                      void *user);
/** The graph as text; `elide` shortens constants. */
TAKT_API TAKT_MUST_USE takt_status takt_model_print(const takt_model *model, bool elide,
                                                    takt_sink_fn *sink, void *user);

/** What the compiler's passes do to a model. */
typedef struct takt_opt_options {
    size_t size;
    const char *passes; /**< "+name,-name"; "all" and "-all" too; NULL: the standard ones */
    const char *sizes;  /**< "batch=8,seq=128": numbers for named dimensions; may be NULL */
    bool only_trace;    /**< nothing but the trace, no graph */
    bool trace;         /**< a line for every rule that fired or refused */
    bool types;         /**< the type of every value as a comment */
    bool full;          /**< constants in full instead of their beginning */
    bool trainable;     /**< parameters stay parameters; default: constants, as in a plan */
    /** Receives the graph's text after each pass; may be NULL. */
    takt_status (*each)(void *user, size_t index, const char *pass, const char *text);
    void *each_user;
    /** Shows everything that a plan with these options does to the model: its sizes, passes,
     * numerics, precision and level apply, and the fields passes, sizes, trainable and each above
     * are ignored. NULL: the passes alone. */
    const struct takt_plan_options *plan;
} takt_opt_options;

/** Runs the passes on a copy of the model and writes the changes of each. */
TAKT_API TAKT_MUST_USE takt_status takt_model_optimize(const takt_model *model,
                                                       const takt_opt_options *options,
                                                       takt_format format, takt_sink_fn *sink,
                                                       void *user);
/** The passes in order: what each does, its licence, and the reason for its position. */
TAKT_API TAKT_MUST_USE takt_status takt_pass_list(takt_ctx *ctx, takt_format format,
                                                  takt_sink_fn *sink, void *user);
/** The operations: all of them, or the one called `name`; NULL for all. A layer of the language is
 *  shown as its text. */
TAKT_API TAKT_MUST_USE takt_status takt_op_list(takt_ctx *ctx, const char *name, takt_format format,
                                                takt_sink_fn *sink, void *user);
/** The operations that have no "bound", no "relax" (linear bounds) or no "gradient", and why. */
TAKT_API TAKT_MUST_USE takt_status takt_op_list_without(takt_ctx *ctx, const char *what,
                                                        takt_format format, takt_sink_fn *sink,
                                                        void *user);

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_lineage_options {
    size_t size;     /**< sizeof(takt_lineage_options), or 0 */
    bool verify;     /**< look for the files next to this one and compare their SHA-256 */
    size_t *changed; /**< receives how many differ; may be NULL */
} takt_lineage_options;

/** The chain of commands and files behind a model file, newest first: `takt lineage`. */
TAKT_API TAKT_MUST_USE takt_status takt_lineage_list(takt_ctx *ctx, const char *path,
                                                     const takt_lineage_options *options,
                                                     takt_format format, takt_sink_fn *sink,
                                                     void *user);
/** Lists its tensors: names, types, bytes, and the part that holds them: `takt inspect`. */
TAKT_API TAKT_MUST_USE takt_status takt_weights_inspect(takt_ctx *ctx, const char *path,
                                                        takt_format format, takt_sink_fn *sink,
                                                        void *user);

/* ---- plans and sessions ---- */

/** Steps, buffers and the memory statement: `takt plan`. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_describe(const takt_plan *plan, takt_format format,
                                                      takt_sink_fn *sink, void *user);
/** Which kernel each step got, which were refused and why: `takt kernels`. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_kernels(const takt_plan *plan, takt_format format,
                                                     takt_sink_fn *sink, void *user);
/** The arena over the steps, as an SVG picture. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_draw(const takt_plan *plan, takt_sink_fn *sink,
                                                  void *user);
/** The steps and the data flow between them, as an SVG picture: `takt plan --graph`. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_draw_graph(const takt_plan *plan, takt_sink_fn *sink,
                                                        void *user);
/** What fused with what, and what did not and why; `node` NULL: everything. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_explain(const takt_plan *plan, const char *node,
                                                     takt_format format, takt_sink_fn *sink,
                                                     void *user);
/** takt_plan_describe with what is bound: the copies that buffers cost are separate steps, and
 *  inputs read in place are listed. */
TAKT_API TAKT_MUST_USE takt_status takt_session_describe(const takt_session *session,
                                                         takt_format format, takt_sink_fn *sink,
                                                         void *user);

/* ---- training ---- */

/** The losses of a training, to be drawn. */
typedef struct takt_curve {
    const char *title; /**< default "loss" */
    const uint64_t *step;
    const double *loss; /**< `count` of both: steps and their losses */
    size_t count;
    const uint64_t *check_step;
    const double *check_loss; /**< `checks` of both: losses on other data, or none */
    size_t checks;
} takt_curve;

/** Draws the curve as SVG, or as PNG. With more than a few hundred steps, means are drawn. */
TAKT_API TAKT_MUST_USE takt_status takt_curve_write(takt_ctx *ctx, const takt_curve *curve,
                                                    bool is_png, takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
