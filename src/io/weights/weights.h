/* weights.h - reads and writes tensors by name.
 *
 * Reading detects the format by content: safetensors, a .index.json that lists parts, .npz, .npy.
 * Writing chooses it by the suffix.
 */
#ifndef TAKT_IO_WEIGHTS_WEIGHTS_H
#define TAKT_IO_WEIGHTS_WEIGHTS_H

#include "base/inner.h"
#include "io/safetensors/safetensors.h"

/* Receives one tensor; the bytes are valid during the call. `file` is the part that holds it. */
typedef takt_status takt_weights_fn(void *user, const char *file, const char *name,
                                    const takt_type *type, const void *bytes);
/* Visits every tensor of the file and its parts. */
TAKT_INNER TAKT_MUST_USE takt_status takt_weights_each(takt_ctx *ctx, const char *path,
                                                       takt_weights_fn *visit, void *user);
/* The same for a mapped file: `*mapping` holds its bytes, or is NULL if they were read, from before
 * the first visit until this returns. */
TAKT_MUST_USE takt_status takt_weights_each_mapped(takt_ctx *ctx, const char *path,
                                                   takt_weights_fn *visit, void *user,
                                                   takt_storage **mapping, size_t *length);
/* Whether a file that begins with these bytes holds weights, and not a model. */
bool takt_weights_recognises(const uint8_t *bytes, size_t length);
/* Whether takt_weights_save supports the suffix. */
bool takt_weights_ending(const char *path);
/* The supported suffixes: ".npy, .npz or .safetensors". */
void takt_weights_endings(char *to, size_t size);
/* Chooses the format by the suffix, safetensors by default: .safetensors, .npz, .npy (one
 * tensor), or .index.json: parts of at most `shard_bytes` (0: 5 GB) next to it, in the order of
 * the tensors. */
TAKT_MUST_USE takt_status takt_weights_save(takt_ctx *ctx, const char *path,
                                            const takt_named_tensor *tensors, size_t count,
                                            uint64_t shard_bytes);

#endif
