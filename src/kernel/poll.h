/* poll.h - how long-running work learns whether its result is still wanted.
 *
 * A deadline or a cancel ends a run in the middle of a step. Kernels and the loops around them poll
 * at the end of a block, some ten to a hundred microseconds of work, and return immediately when
 * asked to stop; their results are then ignored. Work that is not stopped computes the same bits,
 * polled or not.
 */
#ifndef TAKT_KERNEL_POLL_H
#define TAKT_KERNEL_POLL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct takt_poll takt_poll;
struct takt_poll {
    bool (*stops)(const takt_poll *poll);
};

/* NULL: never. */
static inline bool takt_poll_stops(const takt_poll *poll)
{
    return poll != NULL && poll->stops(poll);
}

#endif
