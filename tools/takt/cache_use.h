/* cache_use.h - the caches in a profile or a benchmark: --counters. */
#ifndef TAKT_TOOL_CACHE_USE_H
#define TAKT_TOOL_CACHE_USE_H

#include <takt/counters.h>

#include "measure.h"

enum { TOOL_CACHE_NOTE = 512 };

/* Whose caches. */
typedef struct tool_cache_job {
    takt_tool *t;
    const takt_model *model;
    const char *path;       /* of the model, for a simulated run */
    const char *sizes;      /* of the plan */
    const char *given;      /* sizes that a simulated run needs in addition to the flags; or NULL */
    double run_ns, made_ns; /* a run on all threads times threads, and loading and planning */
    takt_cache_use modelled;
    int (*fill)(void *user, takt_session *s); /* inputs of a session; an exit code */
    void *user;
    char note[TOOL_CACHE_NOTE]; /* why no better source was used */
} tool_cache_job;

/* False: --counters has an unknown word; printed. */
bool tool_cache_flag(const takt_tool *t);
/* The counters that --counters selects; the flag must be given. The note belongs to the job. */
int tool_cache_use(tool_cache_job *j, takt_cache_use *use);
/* The same into the profile of `b`; does nothing without the flag. */
int tool_profile_cache(takt_tool *t, tool_bench *b, takt_profile *p);

#endif
