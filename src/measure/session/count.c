/* count.c - events of the processor per run, counted by the kernel. */
#include <errno.h>

#include "api/session/session.h"
#include "os/counter.h"
#include "os/os.h"

#include <takt/measure.h>

static takt_status unavailable(takt_ctx *ctx, const char *event, int error)
{
    char reason[128];
    takt_fail(ctx, TAKT_E_COUNTER, "%s are not counted here: %s", event,
              takt_os_reason(error, reason, sizeof reason));
    return takt_fail_hint(ctx, "sudo sysctl kernel.perf_event_paranoid=1 helps if the processor "
                               "has counters; valgrind can simulate instructions "
                               "and caches");
}

takt_status takt_session_count(takt_session *s, const char *event, uint64_t runs, double *per_run)
{
    TAKT_NEED(NULL, s);
    TAKT_NEED(NULL, event);
    TAKT_NEED(NULL, per_run);
    const takt_event which = takt_event_find(event);
    uint64_t value = 0;
    *per_run = 0;
    if (which == TAKT_EVENTS || runs == 0)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT,
                         "%llu runs, and the event %s; there are %s, %s "
                         "and others",
                         (unsigned long long)runs, event, takt_event_name(0), takt_event_name(1));
    TAKT_TRY(takt_session_run(s)); /* the first run is not like the others */
    const int counter = takt_counter_open(which);
    if (counter < 0)
        return unavailable(s->ctx, event, -counter);
    takt_status status = TAKT_OK;
    takt_counter_begin(counter);
    for (uint64_t i = 0; i < runs && status == TAKT_OK; i++)
        status = takt_session_run(s);
    const bool is_exclusive = takt_counter_end(counter, &value);
    takt_counter_close(counter);
    TAKT_TRY(status);
    if (!is_exclusive || (value == 0 && !takt_event_is_miss(which)))
        return unavailable(s->ctx, event, EBUSY);
    *per_run = (double)value / (double)runs;
    return TAKT_OK;
}
