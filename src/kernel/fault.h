/* fault.h - where a kernel records a zero divisor or an index out of range.
 *
 * Kernels cannot fail: they record the lowest bad element and its value, continue with a safe
 * value, and the executor turns the record into an error after the step. Threads have one slot
 * each.
 */
#ifndef TAKT_KERNEL_FAULT_H
#define TAKT_KERNEL_FAULT_H

#include <stdint.h>

#define TAKT_FAULT_NONE UINT64_MAX

typedef struct takt_fault {
    uint64_t base;  /* set by the caller: the index of the kernel's element 0 in the whole step */
    uint64_t index; /* base + the lowest bad element; TAKT_FAULT_NONE while there is none */
    int64_t value;  /* the bad value: the index, or the divisor */
} takt_fault;

static inline void takt_fault_note(takt_fault *fault, uint64_t element, int64_t value)
{
    if (fault->base + element >= fault->index)
        return;
    fault->index = fault->base + element;
    fault->value = value;
}

#endif
