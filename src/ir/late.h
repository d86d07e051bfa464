/* late.h - storages whose bytes are read when somebody needs them.
 *
 * Weights are read from their file when a plan packs them, one at a time, and what they were packed
 * from is not kept. Code that asks for the data of such a storage gets it, and from then on it
 * stays in memory like any other. A late storage has its address from the beginning. */
#ifndef TAKT_IR_LATE_H
#define TAKT_IR_LATE_H

#include "ir/tensor.h"

typedef struct takt_late {
    /* Writes bytes [first, first + count) of the storage to `to`. Both are multiples of `grain`, or
     * end with the storage; maybe by several threads at once, and more than once. */
    takt_status (*read)(void *user, size_t first, size_t count, void *to);
    void (*done)(void *user); /* after the last use */
    void *user;
    size_t grain; /* 0: all bytes are read at once */
} takt_late;

/* `late` is taken over, unless this fails. */
TAKT_MUST_USE takt_status takt_storage_create_late(takt_ctx *ctx, size_t bytes,
                                                   const takt_late *late, takt_storage **storage);
/* One of zeros. */
TAKT_MUST_USE takt_status takt_storage_create_zeros(takt_ctx *ctx, size_t bytes,
                                                    takt_storage **storage);
/* Whether its bytes are not in memory. Accepts NULL. */
bool takt_storage_is_late(takt_storage *storage);
/* Whether its bytes were not in memory when it was created. Accepts NULL. */
bool takt_storage_began_late(const takt_storage *storage);
size_t takt_storage_bytes(const takt_storage *storage);
/* Brings the bytes into memory. takt_storage_data does so, too, but cannot fail: the bytes are then
 * zeros, and ctx->has_lost_bytes is set for good. Accepts NULL. */
TAKT_MUST_USE takt_status takt_storage_settle(takt_storage *storage);
/* An error if any bytes of the context's storages were lost: what was made of them since, by
 * whatever thread, is not to be used. */
TAKT_MUST_USE takt_status takt_late_check(takt_ctx *ctx);
/* Copies all bytes, and leaves the storage as it is. */
TAKT_MUST_USE takt_status takt_storage_copy(takt_storage *storage, void *to);
/* The same for some bytes of a late storage, by its grain. */
TAKT_MUST_USE takt_status takt_storage_copy_part(takt_storage *storage, size_t first, size_t count,
                                                 void *to);
/* In what multiples of bytes a storage can be read; 0: it is not late, or is read at once. */
size_t takt_storage_grain(takt_storage *storage);
/* A hash of the bytes of the tensor, continuing `h`; ctx->has_lost_bytes: they could not be
 * read. */
uint64_t takt_tensor_hash(const takt_tensor *tensor, uint64_t h);
/* Where the bytes of the tensor are, or will be. */
const void *takt_tensor_address(const takt_tensor *tensor);

#endif
