/* stops.h - whether to continue an evaluation: the poll of its run. */
#ifndef TAKT_OP_UTIL_STOPS_H
#define TAKT_OP_UTIL_STOPS_H

#include "ir/op.h"
#include "kernel/poll.h"

/* The interpreter's state of an evaluation begins with this struct (interp/run.h). */
typedef struct takt_eval_run {
    const takt_poll *poll; /* or NULL */
    size_t done;           /* elements since the last poll */
} takt_eval_run;

static inline const takt_poll *takt_eval_poll(const takt_eval *e)
{
    return e->interp != NULL ? ((const takt_eval_run *)e->interp)->poll : NULL;
}

/* Whether to stop, after `work` more elements of some ten nanoseconds each. The results of a
 * stopped evaluation are ignored. */
static inline bool takt_eval_stops(const takt_eval *e, size_t work)
{
    enum { POLLED = 1 << 15 };
    takt_eval_run *run = e->interp;
    if (run == NULL || (run->done += work) < POLLED)
        return false;
    run->done = 0;
    return takt_poll_stops(run->poll);
}

#endif
