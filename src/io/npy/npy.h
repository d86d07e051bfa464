/* npy.h - NumPy's array files: the parts that .npy and .npz share. */
#ifndef TAKT_IO_NPY_NPY_H
#define TAKT_IO_NPY_NPY_H

#include <takt/array.h>

#include "base/cursor.h"
#include "base/text.h"
#include "io/skim.h"

enum { TAKT_NPY_HEADER = 1 << 16 }; /* larger headers are refused: rank is at most 16 */

/* Contents of a header. */
typedef struct takt_npy_header {
    takt_dtype dtype;
    bool is_fortran;
    int rank;
    int64_t dims[TAKT_MAX_RANK];
    bool has_dtype, has_order, has_shape;
    bool is_other;   /* text, objects and such: no numbers, which is an error */
    size_t shape_at; /* offset of the shape in the file */
} takt_npy_header;

/* `text`: the dictionary; `at`: its offset in the file, for messages. */
TAKT_MUST_USE takt_status takt_npy_parse(takt_ctx *ctx, const char *name, takt_span text, size_t at,
                                         takt_npy_header *header);
/* From the first byte of a file to the first of its data. */
TAKT_MUST_USE takt_status takt_npy_read_header(takt_ctx *ctx, const char *name, takt_cursor *c,
                                               takt_npy_header *header);
/* takt_npy_load_memory; `keeps_order`: Fortran order is kept, as the view's strides. */
TAKT_MUST_USE takt_status takt_npy_read_memory(takt_ctx *ctx, const char *name, takt_span bytes,
                                               bool keeps_order, takt_tensor_view *view);
/* Bytes of a dense view; false if it is not dense, too large, on a device, or of an unknown
 * type. */
bool takt_npy_bytes(const takt_tensor_view *view, size_t *bytes);
/* "<f4", or NULL if .npy has no such type. */
const char *takt_npy_descr(takt_dtype dtype);
/* Writes magic, version, length and dictionary, padded so that data begin at a multiple of 64. */
TAKT_MUST_USE takt_status takt_npy_head(takt_ctx *ctx, const takt_tensor_view *view,
                                        takt_text *text);
/* The CRC of ZIP over more bytes; the first call has 0. */
uint32_t takt_zip_checksum(uint32_t crc, const uint8_t *bytes, size_t length);
/* An archive in memory. */
typedef struct takt_npz {
    takt_ctx *ctx;
    const char *name; /* for messages */
    const uint8_t *bytes;
    size_t length;
    takt_skim *skim; /* the owner of `bytes`, which are fetched; NULL: all of them are present */
    bool has_others; /* arrays without numbers are visited, too, with rank -1 */
} takt_npz;

/* Visits every array of an archive, in order; `view`, a copy of `member`, is freed after the
 * call. */
typedef takt_status takt_npz_fn(void *user, takt_span name, takt_span member,
                                const takt_tensor_view *view);
TAKT_MUST_USE takt_status takt_npz_each(const takt_npz *from, takt_npz_fn *visit, void *user);

#endif
