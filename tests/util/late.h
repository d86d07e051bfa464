/* late.h - a backend with memory of its own and a thread that takes its time: what a device is, to
 * the planner and the executor, without a device.
 *
 *     takt_late_begin();
 *     takt_late.refuses = 3;
 *     takt_backend_add(ctx, &takt_backend_late);
 *     ... plans with backend "late" ...
 *     EXPECT(takt_late_end() == NULL);
 *
 * It computes with the kernels of cpu, so its bits are cpu's. Its memory is apart: every block has
 * red zones, holds junk at first, and is on a list, so that a copy in the wrong direction, a step
 * that reads the host's memory, and a block that is never given back are seen.
 */
#ifndef TAKT_TESTS_UTIL_LATE_H
#define TAKT_TESTS_UTIL_LATE_H

#include "plan/backend.h"

typedef struct takt_late_control {
    /* To be set before use. */
    uint64_t fail_at;  /* that call of a hook fails, counted from 1; 0: none */
    bool is_for_ever;  /* and all calls after it */
    unsigned refuses;  /* every node with this number is refused; 0: only those with subgraphs */
    unsigned delay_us; /* of the thread, before it begins a segment */
    const takt_machine *machine; /* NULL: copies cost nothing */
    uint64_t total;              /* bytes that the device has; 0: a gigabyte */
    /* What has happened. */
    _Atomic uint64_t calls, hits;
    _Atomic uint64_t segments, steps, uploads, downloads;
    _Atomic int64_t blocks, bytes, sessions, devices;
    _Atomic uint64_t refused; /* answers of supports */
} takt_late_control;

extern takt_late_control takt_late;
extern const takt_backend takt_backend_late;

/* All zero again. */
void takt_late_begin(void);
/* The first misuse or leak so far; NULL: none. */
const char *takt_late_end(void);

#endif
