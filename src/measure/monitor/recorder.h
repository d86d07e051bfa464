/* recorder.h - between takt_profile_start and takt_profile_stop: every step of every session. */
#ifndef TAKT_MEASURE_MONITOR_RECORDER_H
#define TAKT_MEASURE_MONITOR_RECORDER_H

#include <takt/monitor.h>

#include "api/session/session.h"
#include "base/lock.h"

enum { TAKT_RECORD_OPS = 256, TAKT_RECORD_EVENTS = 16384 };

/* One block, so that recording allocates nothing. */
typedef struct takt_recorder {
    takt_ctx *ctx;
    takt_watch watch; /* the context's */
    uint64_t start_ns, allocations, allocated_bytes;
    takt_lock lock; /* held while something is entered */
    uint64_t moves, move_bytes, move_ns, dropped;
    size_t op_count, event_count;
    takt_op_times ops[TAKT_RECORD_OPS];
    takt_profile_event events[TAKT_RECORD_EVENTS];
} takt_recorder;

#endif
