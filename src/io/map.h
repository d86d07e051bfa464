/* map.h - memory-mapped files, used in place if the caller trusts them. */
#ifndef TAKT_IO_MAP_H
#define TAKT_IO_MAP_H

#include "ir/tensor.h"

/* A whole file as a storage that is unmapped on its last release; at most limits.file_bytes. If the
 * context cannot map files, or the file is empty, `*storage` is NULL and the call succeeds: the
 * caller reads the file instead. */
TAKT_MUST_USE takt_status takt_map_file(takt_ctx *ctx, const char *path, takt_storage **storage,
                                        size_t *length);
/* A tensor whose bytes start at `at` of such a storage; false if they are out of range or
 * misaligned for the element type. */
bool takt_map_tensor(takt_storage *storage, size_t length, const takt_type *type, const void *at,
                     takt_tensor *tensor);

#endif
