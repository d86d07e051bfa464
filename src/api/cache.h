/* cache.h - plans that were made once and may be wanted again. */
#ifndef TAKT_API_CACHE_H
#define TAKT_API_CACHE_H

#include <takt/ctx.h>

typedef struct takt_plan_cache takt_plan_cache;

enum { TAKT_CACHE_PLANS = 32 };

/* Accepts a context without one. */
void takt_plan_cache_destroy(takt_ctx *ctx);

#endif
