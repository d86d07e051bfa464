/* fp.h - the floating-point state that all of Takt's arithmetic assumes: round to nearest, even;
 * denormals kept; no traps. */
#ifndef TAKT_OS_FP_H
#define TAKT_OS_FP_H

#include <stdint.h>

/* Sets that state for the calling thread and returns what takt_fp_leave needs to restore the
 * previous one. Exception flags (inexact, overflow, ...) stay set. */
uint64_t takt_fp_enter(void);
void takt_fp_leave(uint64_t before);

#endif
