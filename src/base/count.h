/* count.h - counts a context's memory: live bytes, their peak and their limit.
 *
 * The context's allocator counts its own bytes. Pages from the system do not pass through it: the
 * code that maps them counts them here. */
#ifndef TAKT_BASE_COUNT_H
#define TAKT_BASE_COUNT_H

#include "base/ctx.h"

/* Reserves `bytes` more: false, and nothing is counted, if they exceed the limit. */
bool takt_count_more(takt_ctx *ctx, size_t bytes, uint64_t *live);
/* Records an allocation that succeeded and brought the live bytes to `live`. */
void takt_count_peak(takt_ctx *ctx, uint64_t live);
void takt_count_less(takt_ctx *ctx, size_t bytes);

#endif
