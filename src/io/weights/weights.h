/* weights.h - reads and writes tensors by name.
 *
 * Reading detects the format by content: safetensors, a .index.json that lists parts, .npz, .npy.
 * Writing chooses it by the suffix.
 */
#ifndef TAKT_IO_WEIGHTS_WEIGHTS_H
#define TAKT_IO_WEIGHTS_WEIGHTS_H

#include "base/inner.h"
#include "io/safetensors/safetensors.h"
#include "io/skim.h"

/* Receives one tensor; the bytes are valid during the call. `file` is the part that holds it. */
typedef takt_status takt_weights_fn(void *user, const char *file, const char *name,
                                    const takt_type *type, const void *bytes);
/* Visits every tensor of the file and its parts. */
TAKT_INNER TAKT_MUST_USE takt_status takt_weights_each(takt_ctx *ctx, const char *path,
                                                       takt_weights_fn *visit, void *user);

/* An open file, for several passes over its tensors. Bytes are read tensor by tensor. */
typedef struct takt_weights_file {
    takt_ctx *ctx;
    const char *path;
    const struct takt_weights_format *format;
    takt_skim skim;        /* unless it is mapped */
    takt_storage *mapping; /* holds its bytes; NULL: it is read */
    const uint8_t *bytes;
    size_t length;
} takt_weights_file;

/* Needs takt_weights_close if it succeeds. `maps`: map the file if the context can. */
TAKT_MUST_USE takt_status takt_weights_open(takt_ctx *ctx, const char *path, bool maps,
                                            takt_weights_file *file);
void takt_weights_close(takt_weights_file *file);
TAKT_MUST_USE takt_status takt_weights_pass(takt_weights_file *file, takt_weights_fn *visit,
                                            void *user);
/* Checks all that can be wrong with the file; visitors must not look at bytes, which may be
 * absent. */
TAKT_MUST_USE takt_status takt_weights_pass_types(takt_weights_file *file, takt_weights_fn *visit,
                                                  void *user);
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
