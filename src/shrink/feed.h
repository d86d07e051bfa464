/* feed.h - samples of a data set into the inputs of a session, one run after another. */
#ifndef TAKT_SHRINK_FEED_H
#define TAKT_SHRINK_FEED_H

#include <takt/shrink.h>

#include "shrink/base.h"

typedef struct takt_feed {
    takt_ctx *ctx;
    const takt_data *data;
    const takt_model *model; /* whose inputs these are */
    int threads;             /* of plans; 0: the default */
    takt_arena arena;
    const char **fields;        /* of each input */
    const char *sizes;          /* for plans: those given, and the batch */
    char *rest;                 /* the same for the last, shorter batch; NULL: not needed */
    uint64_t per_run;           /* samples in a run */
    uint64_t rest_count;        /* in the last one; 0: it is like the others */
    uint64_t runs;              /* all of them */
    uint64_t samples;           /* samples in use: rounded up only if a fixed batch does not divide
                                 * them */
    uint64_t *rows;             /* room for a run's */
    takt_progress_fn *progress; /* called before every run; or NULL */
    void *progress_user;
    const char *part; /* purpose of the runs, for the progress callback */
} takt_feed;

/* `batch`: samples per run, if the model leaves that open; `limit`: maximum number of samples, 0
 * for all. Data that does not fit is TAKT_E_SHRINK_DATA. */
TAKT_MUST_USE takt_status takt_feed_init(takt_feed *f, const takt_model *m, const takt_data *data,
                                         const char *sizes, uint64_t batch, uint64_t limit);
void takt_feed_deinit(takt_feed *f);
/* Copies the samples of run `run` into the session's inputs; the session is reshaped for the last,
 * shorter run. Reports the number of samples. State is reset. */
TAKT_MUST_USE takt_status takt_feed_put(takt_feed *f, takt_shrink_run *r, uint64_t run,
                                        uint64_t *count);
/* The labels of that run. */
TAKT_MUST_USE takt_status takt_feed_labels(takt_feed *f, uint64_t run, int64_t *labels,
                                           uint64_t *count);

#endif
