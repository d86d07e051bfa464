/* fault.c - the lowest bad element of a step, kept together with its value.
 *
 * Element and value are two words that must change together. Faults are rare and a task merges its
 * own once, at its end, so a lock that is held for three instructions is enough.
 */
#include "os/os.h"
#include "plan/plan.h"

/* tests/unit/fault_merge.c switches threads at each use of this. */
#ifndef TAKT_FAULT_POINT
#define TAKT_FAULT_POINT() ((void)0)
#endif

void takt_fault_reset(takt_fault_slot *slot)
{
    takt_lock_give(&slot->lock);
    atomic_store_explicit(&slot->element, TAKT_FAULT_NONE, memory_order_relaxed);
}

void takt_fault_merge(takt_fault_slot *slot, const takt_fault *fault)
{
    TAKT_FAULT_POINT();
    if (fault->index >= atomic_load_explicit(&slot->element, memory_order_relaxed))
        return;
    for (;;) {
        TAKT_FAULT_POINT();
        if (takt_lock_try(&slot->lock))
            break;
        takt_os_yield();
    }
    TAKT_FAULT_POINT();
    if (fault->index < atomic_load_explicit(&slot->element, memory_order_relaxed)) {
        TAKT_FAULT_POINT();
        atomic_store_explicit(&slot->element, fault->index, memory_order_relaxed);
        TAKT_FAULT_POINT();
        atomic_store_explicit(&slot->value, fault->value, memory_order_relaxed);
    }
    TAKT_FAULT_POINT();
    takt_lock_give(&slot->lock);
}
