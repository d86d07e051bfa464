/* map.h - files that are mapped and used in place, if the caller trusts them. */
#ifndef TAKT_IO_MAP_H
#define TAKT_IO_MAP_H

#include "ir/tensor.h"

/* All of a file as a storage that unmaps it with its last release; at most limits.file_bytes. Where
 * the context's files have no maps, or the file is empty, `*storage` is NULL and nothing has
 * failed: the caller reads it. */
TAKT_MUST_USE takt_status takt_map_file(takt_ctx *ctx, const char *path, takt_storage **storage,
                                        size_t *length);
/* A tensor whose bytes are at `at` of such a storage; false if they are not, or are not aligned for
 * the elements. */
bool takt_map_tensor(takt_storage *storage, size_t length, const takt_type *type, const void *at,
                     takt_tensor *tensor);

#endif
