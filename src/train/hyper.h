/* hyper.h - the numbers of an optimiser, loss or schedule, as the user writes them. */
#ifndef TAKT_TRAIN_HYPER_H
#define TAKT_TRAIN_HYPER_H

#include "base/error.h"

typedef struct takt_hyper {
    const char *name; /* NULL past the last */
    double fallback, low, high;
    const char *summary;
} takt_hyper;

/* The most of a decay whose corrections divide by 1 - decay^step. */
#define TAKT_BELOW_ONE 0.999999

/* The length of the name in "name:a=1,b=2". */
size_t takt_hyper_name(const char *text);
/* Parses "name:a=1,b=2": a parameter without a value is 1, one that is not given has its default.
 * `owner` is for messages. */
TAKT_MUST_USE takt_status takt_hyper_read(takt_ctx *ctx, const char *owner, const takt_hyper *hyper,
                                          size_t count, const char *text, double *values);
/* For "a=1,b=2" without a name: values that are not given stay. */
TAKT_MUST_USE takt_status takt_hyper_change(takt_ctx *ctx, const char *owner,
                                            const takt_hyper *hyper, size_t count, const char *text,
                                            double *values);
/* Records that there is no `what` of that name, with what it is called here if others call it so,
 * or with the nearest of the names that `name_at` yields. */
takt_status takt_hyper_unknown(takt_ctx *ctx, const char *what, const char *text,
                               const char *(*name_at)(size_t index));

#endif
