/* gguf.h - the header of a GGUF file: metadata by key, and the place of each tensor.
 *
 * Everything points into the bytes that were read or lives in the arena; nothing is copied twice.
 * docs/gguf.md lists what is supported.
 */
#ifndef TAKT_IO_GGUF_GGUF_H
#define TAKT_IO_GGUF_GGUF_H

#include "base/spans.h"
#include "io/skim.h"
#include "ir/tensor.h"
#include "kernel/ggml_f32/ggml_f32.h"

/* Kinds of metadata, numbered as in the file. */
typedef enum takt_gguf_kind {
    TAKT_GGUF_U8,
    TAKT_GGUF_I8,
    TAKT_GGUF_U16,
    TAKT_GGUF_I16,
    TAKT_GGUF_U32,
    TAKT_GGUF_I32,
    TAKT_GGUF_F32,
    TAKT_GGUF_BOOL,
    TAKT_GGUF_STRING,
    TAKT_GGUF_ARRAY,
    TAKT_GGUF_U64,
    TAKT_GGUF_I64,
    TAKT_GGUF_F64,
    TAKT_GGUF_KINDS,
} takt_gguf_kind;

typedef struct takt_gguf_value {
    const char *key;
    takt_gguf_kind kind; /* of its elements */
    bool is_array;
    size_t count; /* elements; 1 if it is not an array */
    const uint8_t *bytes;
    const takt_span *texts; /* of strings */
    uint64_t offset;        /* in the file */
} takt_gguf_value;

/* Layout of a tensor's elements in the file. */
typedef struct takt_gguf_type {
    uint32_t number;
    const char *name;
    uint32_t elements, bytes; /* of one block */
    takt_dtype dtype;         /* TAKT_DTYPE_COUNT: it is made of blocks */
} takt_gguf_type;

/* NULL if there is no such type, or no longer. */
const takt_gguf_type *takt_gguf_type_of(uint32_t number);
/* The ops' name for blocks of the type; TAKT_GGML_FORMATS if unknown to Takt. */
takt_ggml_format takt_gguf_format(const takt_gguf_type *type);

typedef struct takt_gguf_tensor {
    const char *name;
    const takt_gguf_type *type;
    int rank;
    int64_t dims[4]; /* in Takt's order: the last is contiguous */
    size_t count, bytes;
    uint64_t offset; /* in the file */
    uint32_t shard;  /* part of a split file, from 0 */
} takt_gguf_tensor;

typedef struct takt_gguf {
    takt_ctx *ctx;
    const char *file; /* for messages */
    uint32_t version;
    takt_gguf_value *values;
    size_t value_count;
    takt_gguf_tensor *tensors;
    size_t tensor_count;
    takt_span *key_spans, *name_spans;
    takt_spans keys, names;
    uint64_t alignment, data; /* where the tensors begin */
    bool is_cut; /* the header continues past the available bytes; nothing else is valid */
} takt_gguf;

bool takt_gguf_recognises(const uint8_t *bytes, size_t length);
/* Checks everything before the tensors' bytes, and that those are inside the file. The file has
 * `length` bytes, of which the first `have` are available. Sets is_cut if the header is longer. */
TAKT_MUST_USE takt_status takt_gguf_parse(takt_arena *arena, const char *file, const uint8_t *bytes,
                                          size_t have, size_t length, takt_gguf *gguf);

/* Reads the header of an opened file without reading the tensors. */
TAKT_MUST_USE takt_status takt_gguf_skim(takt_skim *s);

/* NULL if there is none. */
const takt_gguf_value *takt_gguf_find(const takt_gguf *g, const char *key);
const takt_gguf_tensor *takt_gguf_tensor_find(const takt_gguf *g, const char *name);

/* Element `i` as a double (numbers and bools). */
double takt_gguf_number(const takt_gguf_value *v, size_t i);
/* Integers; false if the element is not an integer or does not fit. */
bool takt_gguf_integer(const takt_gguf_value *v, size_t i, int64_t *out);
bool takt_gguf_is_number(const takt_gguf_value *v);

/* Scalars by key: `*out` is unchanged if the key is missing; a value of another kind fails. */
TAKT_MUST_USE takt_status takt_gguf_get_integer(const takt_gguf *g, const char *key, int64_t *out);
TAKT_MUST_USE takt_status takt_gguf_get_bool(const takt_gguf *g, const char *key, bool *out);
TAKT_MUST_USE takt_status takt_gguf_get_text(const takt_gguf *g, const char *key, takt_span *out);

#define TAKT_GGUF_HINT "convert the model again, or take the file from another source"
/* Records the failure, with the offset in the file, and what to do. Offset 0: not known, unless the
 * file is not GGUF. */
takt_status takt_gguf_fail(const takt_gguf *g, takt_error_id id, uint64_t offset,
                           const char *format, ...) TAKT_PRINTF(4, 5);

#endif
