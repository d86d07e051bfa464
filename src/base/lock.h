/* lock.h - a spin lock for data that threads share for a few instructions.
 *
 * A zeroed lock is free. A waiting thread yields: the holder may have been preempted, and on a
 * machine with one core would otherwise wait for a whole time slice.
 */
#ifndef TAKT_BASE_LOCK_H
#define TAKT_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/inner.h"

typedef struct takt_lock {
    _Atomic bool is_held;
} takt_lock;

static inline bool takt_lock_try(takt_lock *lock)
{
    return !atomic_exchange_explicit(&lock->is_held, true, memory_order_acquire);
}

/* Gives the processor to another thread for a moment. */
TAKT_INNER void takt_lock_wait(void);

static inline void takt_lock_take(takt_lock *lock)
{
    while (!takt_lock_try(lock))
        takt_lock_wait();
}

static inline void takt_lock_give(takt_lock *lock)
{
    atomic_store_explicit(&lock->is_held, false, memory_order_release);
}

#endif
