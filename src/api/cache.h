/* cache.h - cached plans, for reuse. */
#ifndef TAKT_API_CACHE_H
#define TAKT_API_CACHE_H

#include <takt/ctx.h>

#include "base/inner.h"

typedef struct takt_plan_cache takt_plan_cache;

enum { TAKT_CACHE_PLANS = 32 };

/* Accepts a context without a cache. */
void takt_plan_cache_destroy(takt_ctx *ctx);

/* The cache of one-op runs (eager.c) belongs to this cache; NULL if there is none yet. The lock is
 * held for a few instructions, never during an allocation. */
typedef struct takt_eager takt_eager;
TAKT_MUST_USE takt_status takt_cache_begin(takt_ctx *ctx);
TAKT_INNER void takt_cache_lock(takt_ctx *ctx);
TAKT_INNER void takt_cache_unlock(takt_ctx *ctx);
takt_eager **takt_cache_eager(takt_ctx *ctx);
/* The context's tensor pools, linked; the lock is held. */
struct takt_tensor_pool **takt_cache_pools(takt_ctx *ctx);
/* Frees their idle tensors. */
void takt_pools_trim(takt_ctx *ctx);
/* Frees the sessions that are not running. */
void takt_eager_trim(takt_ctx *ctx);
void takt_eager_destroy(takt_ctx *ctx);

#endif
