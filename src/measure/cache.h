/* cache.h - how a run uses the caches, as reported in results and profiles. */
#ifndef TAKT_MEASURE_CACHE_H
#define TAKT_MEASURE_CACHE_H

#include <takt/counters.h>

#include "base/error.h"
#include "base/json.h"

/* `kept` gets the figures with a source that is a constant, and no note; an error if they are not
 * valid. */
TAKT_MUST_USE takt_status takt_cache_check(takt_ctx *ctx, const takt_cache_use *use,
                                           takt_cache_use *kept);
/* The member "cache". */
void takt_cache_json(takt_json_writer *w, const takt_cache_use *use);
/* "cache (simulated): 98 % of 1234 accesses a run hit L1", its note on a separate line. */
void takt_cache_text(takt_text *text, const char *before, const takt_cache_use *use);

#endif
