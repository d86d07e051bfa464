/* gguf_write.h - a GGUF file from metadata and tensors, one tensor in memory at a time.
 *
 * The metadata is a table to which values are added; all tensors are described before the first is
 * written. Calls follow the order of the file.
 */
#ifndef TAKT_IO_GGUF_GGUF_WRITE_H
#define TAKT_IO_GGUF_GGUF_WRITE_H

#include "io/gguf/gguf.h"

/* Metadata as bytes. Failures are sticky: `text.status`. */
typedef struct takt_gguf_keys {
    takt_text text;
    uint64_t count;
} takt_gguf_keys;

void takt_gguf_keys_init(takt_gguf_keys *k, takt_ctx *ctx);
void takt_gguf_keys_deinit(takt_gguf_keys *k);
void takt_gguf_put_value(takt_gguf_keys *k, const takt_gguf_value *v);
void takt_gguf_put_u32(takt_gguf_keys *k, const char *key, uint32_t value);
void takt_gguf_put_bool(takt_gguf_keys *k, const char *key, bool value);
void takt_gguf_put_text(takt_gguf_keys *k, const char *key, takt_span text);
/* An array of `count` elements; each is then added by one of the functions below. */
void takt_gguf_put_array(takt_gguf_keys *k, const char *key, takt_gguf_kind kind, uint64_t count);
void takt_gguf_put_word(takt_gguf_keys *k, uint32_t bits);
void takt_gguf_put_span(takt_gguf_keys *k, takt_span text);

/* The tensors to write, with names, types and dims. Counts, bytes and offsets are set by the
 * writer. */
typedef struct takt_gguf_tensors {
    takt_gguf_tensor *at;
    size_t count, first; /* first: the number of at[0] */
    /* Bytes of tensor number `i`, in the type it is written in. */
    takt_status (*bytes)(void *user, size_t i, uint8_t *to);
    void *user;
} takt_gguf_tensors;

/* Replaces the file at `path`, or leaves the old one. */
TAKT_MUST_USE takt_status takt_gguf_write(takt_ctx *ctx, const char *path, const takt_gguf_keys *k,
                                          const takt_gguf_tensors *tensors);
/* Same in parts of at most `bytes` of tensors each, or one larger tensor, named as in shards.h; a
 * single part is `path` itself. `*count` receives the number of parts. */
TAKT_MUST_USE takt_status takt_gguf_write_shards(takt_ctx *ctx, const char *path, takt_gguf_keys *k,
                                                 const takt_gguf_tensors *tensors, uint64_t bytes,
                                                 size_t *count);

/* ---- types that tensors can be written in ---- */

/* F32, F16, BF16, Q8_0, Q4_0 to Q5_1, Q2_K to Q6_K, IQ4_NL by name, case-insensitive; NULL if
 * unknown. */
const takt_gguf_type *takt_gguf_written_type(const char *name);
/* One row, a whole number of blocks of the type. `importance` weights the error of each element;
 * NULL: as in ggml's reference. */
void takt_gguf_encode(const takt_gguf_type *type, const float *row, size_t count,
                      const float *importance, uint8_t *to);

/* Parts of it: a row of Q4_0 to Q5_1, a super-block, a block. */
void takt_gguf_encode_weighted(const takt_gguf_type *type, const float *row, size_t count,
                               const float *importance, uint8_t *to);
void takt_gguf_encode_k(uint32_t number, const float *x, const float *importance, uint8_t *to);
void takt_gguf_encode_nl(const float *x, const float *importance, uint8_t *to);

/* Sets general.file_type to match the written tensors, and general.quantization_version if there
 * are blocks and the file has none. */
void takt_gguf_put_file_type(takt_gguf_keys *keys, const takt_gguf_tensor *tensors, size_t count,
                             bool has_version);

#endif
