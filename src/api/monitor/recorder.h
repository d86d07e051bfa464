/* recorder.h - between takt_profile_start and takt_profile_stop: every step of every session. */
#ifndef TAKT_API_MONITOR_RECORDER_H
#define TAKT_API_MONITOR_RECORDER_H

#include <takt/monitor.h>

#include "api/session/session.h"
#include "base/lock.h"

enum { TAKT_RECORD_OPS = 256, TAKT_RECORD_EVENTS = 16384 };

/* One block, so that recording allocates nothing. */
typedef struct takt_recorder {
    uint64_t start_ns, allocations, allocated_bytes;
    takt_lock lock; /* held while something is entered */
    uint64_t moves, move_bytes, move_ns, dropped;
    size_t op_count, event_count;
    takt_op_times ops[TAKT_RECORD_OPS];
    takt_profile_event events[TAKT_RECORD_EVENTS];
} takt_recorder;

/* One run: what its watch works with. */
typedef struct takt_record {
    takt_session *session;
    uint64_t started;
    int thread;
    takt_watch watch;
} takt_record;

/* NULL unless the session's context records; `record` must live as long as the run. */
const takt_watch *takt_record_begin(takt_record *record, takt_session *s);
/* Records what the run copied between the caller's strided buffers and its own. */
void takt_record_copies(takt_session *s);
/* Frees what was started and never stopped. */
void takt_recorder_drop(takt_ctx *ctx);

/* Waits until the share of the processors that the context may use allows a run:
 * api/monitor/usage.c. */
void takt_cpu_wait(takt_ctx *ctx);
/* Memory that the pages of this process take; 0 where the system does not say. */
uint64_t takt_resident_bytes(void);

#endif
