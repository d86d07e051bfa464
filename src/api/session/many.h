/* many.h - one model over many samples: what is cut, and the sessions that work on it. */
#ifndef TAKT_API_SESSION_MANY_H
#define TAKT_API_SESSION_MANY_H

#include "api/session/session.h"

typedef struct takt_many {
    const takt_model *model;
    takt_ctx *ctx;
    const char *dim;
    const takt_named_view *views;
    bool *is_cut, *is_input; /* per view */
    size_t count;
    int64_t samples, batch;
    size_t chunks, jobs;
    takt_session **sessions; /* one per job */
    takt_session *tail;      /* for the last, shorter batch, or NULL */
    takt_load_fn *load;
    takt_store_fn *store;
    void *user;
} takt_many;

/* All chunks: loading, running and storing overlap. */
TAKT_MUST_USE takt_status takt_many_run(takt_many *w);

#endif
