/**
 * graph.h - a model built by a program, operation by operation.
 *
 *     takt_build *build;
 *     takt_build_create(ctx, "twice", &build);
 *     takt_value x = takt_build_input(build, "x", "f32[batch, 4]");
 *     takt_value xx[2] = {x, x};
 *     takt_build_output(build, "y", takt_build_op(build, "add", NULL, xx, 2, NULL));
 *     if (takt_build_finish(build, 0, &model) != TAKT_OK)
 *         fprintf(stderr, "%s\n", takt_last_error(ctx));
 *     takt_build_destroy(build);
 *
 * Building is sticky: after the first failure every call returns TAKT_NO_VALUE, and
 * takt_build_finish returns that failure; so a program that builds fifty operations checks once.
 * Types are checked as operations are added. One thread at a time may use a builder.
 */
#ifndef TAKT_GRAPH_H
#define TAKT_GRAPH_H

#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_build takt_build;
/** A value of the model that is being built: the result of an operation. */
typedef uint32_t takt_value;
/** No value: an optional input that is left out, and the result of a call that failed. */
#define TAKT_NO_VALUE UINT32_MAX

/** An empty model called `name`; NULL: "model". On failure `*build` is NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_build_create(takt_ctx *ctx, const char *name,
                                                     takt_build **build);
/** Accepts NULL. Finished models stay valid. */
TAKT_API void takt_build_destroy(takt_build *build);

/** An input. `type` is an element type and dimensions, "f32[batch, 784]" or "i64[]"; a dimension is
 *  a number or a name, and one name stands for one size throughout the model. */
TAKT_API takt_value takt_build_input(takt_build *build, const char *name, const char *type);
/** A constant, copied from a dense view. */
TAKT_API takt_value takt_build_constant(takt_build *build, const takt_tensor_view *value);

typedef enum takt_initial_kind {
    TAKT_INITIAL_CONSTANT, /**< `a` everywhere */
    TAKT_INITIAL_UNIFORM,  /**< from `a` to `b` */
    TAKT_INITIAL_NORMAL    /**< mean `a`, standard deviation `b` */
} takt_initial_kind;

/** The initial value of a parameter or state. `{0}` is zeros. */
typedef struct takt_initial {
    takt_initial_kind kind;
    double a, b;
    const takt_tensor_view *value; /**< these numbers instead, copied from a dense view */
} takt_initial;

/** A trainable parameter. `initial` may be NULL; `type` may be NULL where it has a value. Random
 *  values depend on the seed of takt_build_finish and the order in which they were added. */
TAKT_API takt_value takt_build_parameter(takt_build *build, const char *name, const char *type,
                                         const takt_initial *initial);
/** A state: its value here is the one that takt_build_next gave it in the previous run. */
TAKT_API takt_value takt_build_state(takt_build *build, const char *name, const char *type,
                                     const takt_initial *initial);
/** Sets the value of a state or parameter after a run. */
TAKT_API void takt_build_next(takt_build *build, const char *name, takt_value value);

/** An operation by its name, with attributes as a JSON object, e.g. `{"axis": -1}`; NULL: the
 *  defaults. `takt ops NAME` shows both, docs/ops.md lists all. Dimensions in a shape may be names,
 *  as strings. `in` may hold TAKT_NO_VALUE where an input is optional. `label` is the value's name
 *  in reports and messages; may be NULL. Operations with subgraphs (if, loop, scan, custom) are
 *  only available in the language. */
TAKT_API takt_value takt_build_op(takt_build *build, const char *op, const char *attributes,
                                  const takt_value *in, size_t in_count, const char *label);
/** Result `index` of an operation that has several. */
TAKT_API takt_value takt_build_result(takt_build *build, takt_value value, size_t index);
/** An output of the model. */
TAKT_API void takt_build_output(takt_build *build, const char *name, takt_value value);

/** The type of a value. Names live as long as the builder; the value's own may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_build_describe(takt_build *build, takt_value value,
                                                       takt_desc *desc);
/** TAKT_OK if nothing has failed, else the first failure, which is also the context's last
 *  error. */
TAKT_API TAKT_MUST_USE takt_status takt_build_status(const takt_build *build);
/** The model, which needs an output. Afterwards nothing can be added. On failure `*model` is
 *  NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_build_finish(takt_build *build, uint64_t seed,
                                                     takt_model **model);

#ifdef __cplusplus
}
#endif
#endif
