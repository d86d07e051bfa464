/* poll.h - a question that long work asks now and then: is the result still wanted?
 *
 * A deadline or a cancel ends a run in the middle of a step. Kernels and the loops around them ask
 * at the end of a block, some ten to a hundred microseconds of work, and return at once when the
 * answer is yes; what they leave in their results is not looked at. Whoever is not asked to stop
 * computes the same bits, polled or not.
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
