/* storage.h - the overhead of a storage besides its bytes, and storages that plans share. */
#ifndef TAKT_IR_STORAGE_H
#define TAKT_IR_STORAGE_H

#include "ir/tensor.h"

/* Reuses the memory of a storage for other bytes: up to its capacity, which is 0 if it is
 * shared. */
size_t takt_storage_room(const takt_storage *storage);
void takt_storage_reuse(takt_storage *storage, size_t bytes);
/* Reallocates the storage to exactly its bytes, which may move. Storages without spare room are
 * unchanged. */
TAKT_MUST_USE takt_status takt_storage_trim(takt_storage **storage);
/* For exact figures. */
size_t takt_storage_overhead(void);
/* `*storage` is complete, and its bytes never change: if the context knows an equal one, that one
 * replaces it. Does nothing to storages that are shared already. */
TAKT_MUST_USE takt_status takt_storage_share(takt_storage **storage);
/* Removes a storage that is no longer held. */
void takt_storage_unshare(takt_storage *storage);
/* Whether its bytes are its own, nobody shares them, and `count` hold it. */
bool takt_storage_is_held_by(const takt_storage *storage, unsigned count);
/* Its bytes including its header on the first call with this tick, then 0; borrowed bytes are the
 * caller's. One thread at a time. */
size_t takt_storage_count_once(takt_storage *storage, uint64_t tick);

#endif
