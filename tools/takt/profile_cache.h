/* profile_cache.h - the caches in a profile: --counters. */
#ifndef TAKT_TOOL_PROFILE_CACHE_H
#define TAKT_TOOL_PROFILE_CACHE_H

#include <takt/counters.h>

#include "measure.h"

/* False: --counters has a word that there is not, which is printed. */
bool profile_cache_flag(const takt_tool *t);
/* What --counters asks for, if anything, into the profile of `b`. */
int profile_cache(takt_tool *t, tool_bench *b, takt_profile *p);

#endif
