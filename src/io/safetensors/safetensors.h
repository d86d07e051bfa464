/* safetensors.h - weights by name: a JSON header, then bytes without gaps. */
#ifndef TAKT_IO_SAFETENSORS_H
#define TAKT_IO_SAFETENSORS_H

#include "base/arena.h"
#include "ir/tensor.h"

typedef struct takt_weight {
    const char *name;
    takt_type type;
    uint64_t offset; /* in the file */
    size_t bytes;
} takt_weight;

typedef struct takt_weight_list {
    takt_weight *at; /* in the order of the bytes */
    size_t count;
} takt_weight_list;

/* Whether the bytes begin like such a file, which may be longer or truncated. */
bool takt_safetensors_recognises(const uint8_t *bytes, size_t length);
/* Checks everything: afterwards each weight is known to be inside the file. `file` is for
 * messages. */
TAKT_MUST_USE takt_status takt_safetensors_read(takt_arena *arena, const char *file,
                                                const uint8_t *bytes, size_t length,
                                                takt_weight_list *weights);

/* The same for a file of `length` bytes, of which the first `have` are present, including the
 * header; bools are not checked to be 0 or 1. */
TAKT_MUST_USE takt_status takt_safetensors_header(takt_arena *arena, const char *file,
                                                  const uint8_t *bytes, size_t have, size_t length,
                                                  takt_weight_list *weights);
/* Offset of the tensors' bytes, after the header; 0: the beginning is not that of such a file of
 * `length` bytes. */
size_t takt_safetensors_data(const uint8_t *bytes, size_t have, size_t length);
/* Whether the bools of a weight are 0 or 1; `bytes` are the file's. */
TAKT_MUST_USE takt_status takt_safetensors_check(takt_ctx *ctx, const char *file,
                                                 const uint8_t *bytes, const takt_weight *w);

typedef struct takt_named_tensor {
    const char *name;
    const takt_tensor *tensor;
} takt_named_tensor;

/* The whole file as one block; free it with takt_mem_put. */
TAKT_MUST_USE takt_status takt_safetensors_write(takt_ctx *ctx, const takt_named_tensor *tensors,
                                                 size_t count, void **bytes, size_t *length);

/* safetensors' name of an element type, or NULL. */
const char *takt_safetensors_dtype(takt_dtype dtype);

#endif
