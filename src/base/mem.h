/* mem.h - memory through the context: aligned to 64 bytes, counted, zero sizes allowed. */
#ifndef TAKT_BASE_MEM_H
#define TAKT_BASE_MEM_H

#include "base/error.h"
#include "base/inner.h"

enum { TAKT_ALIGN = 64 };

/* `*block` receives `size` uninitialised bytes (never NULL on success, even for 0). */
TAKT_INNER TAKT_MUST_USE takt_status takt_mem_get(takt_ctx *ctx, size_t size, const char *what,
                                                  void **block);
/* Zeroed; `count * size` is checked. */
TAKT_INNER TAKT_MUST_USE takt_status takt_mem_zero(takt_ctx *ctx, size_t count, size_t size,
                                                   const char *what, void **block);
/* Accepts NULL. `size` is the allocated size. */
TAKT_INNER void takt_mem_put(takt_ctx *ctx, void *block, size_t size);

/* Grows an array of `item`-byte elements so that it holds at least `need`; doubles. */
TAKT_INNER TAKT_MUST_USE takt_status takt_mem_grow(takt_ctx *ctx, void **array, size_t *capacity,
                                                   size_t need, size_t item);

#endif
