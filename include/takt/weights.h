/**
 * weights.h - files of weights: tensors by name.
 *
 * Threads: one at a time for each file or set (takt.h).
 */
#ifndef TAKT_WEIGHTS_H
#define TAKT_WEIGHTS_H

#include <stdbool.h>
#include <takt/ctx.h>
#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_convert_options {
    size_t size;
    uint64_t shard_bytes; /**< of one part of a .index.json; default 5 GB */
} takt_convert_options;

/** takt_model_load_weights, for a file whose tensors have other names: `rules` is a text file with
 *  one rule per line, `FROM -> TO`. A star stands for one or more characters other than a dot, and
 *  fills the stars of TO, in order; `transpose` after TO swaps the last two axes, `transpose=2,0,1`
 *  permutes them; `-` as TO drops a tensor. The first rule that matches a name applies; a name
 *  without a match stays. NULL: no rules. */
TAKT_API TAKT_MUST_USE takt_status takt_model_load_weights_by(takt_model *model, const char *path,
                                                              const char *rules);

/** Writes all parameters and state of a model to a file, replacing it: .npz, .npy, the parts of a
 *  .index.json, or, for any other ending, safetensors. Options may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_model_save_weights(const takt_model *model,
                                                           const char *path,
                                                           const takt_convert_options *options);
/** A parameter or state of a model. */
typedef struct takt_param {
    const char *name;       /**< as long as the model lives */
    takt_tensor_view value; /**< borrowed and read-only, until the value is replaced. Data is NULL
                               if a dimension is a name: there is no value yet */
    bool is_trainable;      /**< a parameter; false: state */
} takt_param;

/** How many parameters and states a model has; 0 for NULL. */
TAKT_API size_t takt_model_param_count(const takt_model *model);
/** TAKT_ERR_ARGUMENT beyond the last. */
TAKT_API TAKT_MUST_USE takt_status takt_model_param(const takt_model *model, size_t index,
                                                    takt_param *param);
/** Replaces the value of one by a copy of a dense view of its type and shape. Existing plans keep
 *  the old one. TAKT_ERR_NOT_FOUND: the message suggests the nearest name. On failure the model is
 *  unchanged. */
TAKT_API TAKT_MUST_USE takt_status takt_model_param_put(takt_model *model, const char *name,
                                                        const takt_tensor_view *value);

/** Reads safetensors, the parts that a .index.json lists, .npz or .npy, detected from the contents,
 *  and writes the format given by the extension of `to`. An .npy file holds one array; its name is
 *  the file's. On failure `to` is unchanged. */
TAKT_API TAKT_MUST_USE takt_status takt_weights_convert(takt_ctx *ctx, const char *from,
                                                        const char *to,
                                                        const takt_convert_options *options);
/** Whether a file starts like a weights file rather than a model.
 *
 *  @return TAKT_ERR_IO if it cannot be read */
TAKT_API TAKT_MUST_USE takt_status takt_weights_probe(takt_ctx *ctx, const char *path, bool *holds);

#ifdef __cplusplus
}
#endif
#endif
