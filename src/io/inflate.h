/* inflate.h - decompression of .gz files and of members of ZIP archives. */
#ifndef TAKT_IO_INFLATE_H
#define TAKT_IO_INFLATE_H

#include "base/error.h"

/* A deflate stream: with the header and checksum of gzip, or raw as in ZIP archives. */
typedef struct takt_packed {
    const char *name; /* of its file, for messages */
    const uint8_t *bytes;
    size_t length;
    bool is_raw;
    size_t most;         /* its bytes when decompressed are at most these; 0: not known */
    takt_error_id error; /* id of damaged data */
} takt_packed;

bool takt_is_gzip(const uint8_t *bytes, size_t length);
/* The contents in memory of the context, at most limits.file_bytes; free with takt_mem_put, with a
 * size of at least 1. */
TAKT_MUST_USE takt_status takt_inflate(takt_ctx *ctx, const takt_packed *from, void **out,
                                       size_t *out_length);
/* A .gz file; TAKT_E_TRAIN_DATA if it is damaged. */
TAKT_MUST_USE takt_status takt_gunzip(takt_ctx *ctx, const char *path, const uint8_t *bytes,
                                      size_t length, void **out, size_t *out_length);

#endif
