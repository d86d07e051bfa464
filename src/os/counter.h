/* counter.h - the processor's event counters, where the kernel grants them. */
#ifndef TAKT_OS_COUNTER_H
#define TAKT_OS_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/inner.h"

typedef enum takt_event {
    TAKT_EVENT_INSTRUCTIONS,
    TAKT_EVENT_CYCLES,
    TAKT_EVENT_CACHE_READS,
    TAKT_EVENT_CACHE_MISSES,
    TAKT_EVENT_BRANCHES,
    TAKT_EVENT_BRANCH_MISSES,
    TAKT_EVENT_L1_READS, /* of data, by instructions */
    TAKT_EVENT_L1_MISSES,
    TAKT_EVENT_LL_MISSES, /* reads that go to memory */
    TAKT_EVENTS
} takt_event;

/* "instructions"; never NULL. */
TAKT_INNER const char *takt_event_name(takt_event event);
/* The event of that name; TAKT_EVENTS if there is none. */
TAKT_INNER takt_event takt_event_find(const char *name);
/* Whether a run may cause none: then 0 is a valid count, not a broken counter. */
TAKT_INNER bool takt_event_is_miss(takt_event event);

/* Counts the calling thread in user space; a descriptor, or -errno. Threads started later are
 * counted too, existing ones are not. */
TAKT_INNER int takt_counter_open(takt_event event);
TAKT_INNER void takt_counter_close(int counter);
/* Resets it to zero. */
TAKT_INNER void takt_counter_begin(int counter);
/* False if the counter was multiplexed, so that the figure would be an estimate. */
TAKT_INNER bool takt_counter_end(int counter, uint64_t *value);
/* The same without stopping the counter. */
TAKT_INNER bool takt_counter_look(int counter, uint64_t *value);

#endif
