/* sweep.c - runs a scenario with each of its operations failing in turn. */
#include <errno.h>
#include <stdio.h>

#include "util/inject.h"

enum { MOST_RUNS = 1000000 };

typedef struct sweep {
    takt_scenario *scenario;
    void *user;
    unsigned kinds;
    int error;
    takt_sweep_report report;
} sweep;

static bool may_return(const sweep *s, takt_status status)
{
    if (status == TAKT_OK)
        return true;
    if (status == TAKT_ERR_MEMORY)
        return (s->kinds & (TAKT_INJECT_MEMORY | TAKT_INJECT_THREADS)) != 0;
    if (status == TAKT_ERR_FORMAT) /* a file that ends early looks malformed */
        return s->error == TAKT_INJECT_SHORT;
    return status == TAKT_ERR_IO && (s->kinds & (TAKT_INJECT_FILES | TAKT_INJECT_MEMORY)) != 0;
}

/* One run; returns whether the injected failure was reached. */
static bool run(sweep *s, takt_inject_mode mode, uint64_t k)
{
    takt_inject inject;
    takt_inject_init(&inject);
    inject.error = s->error;
    takt_inject_plan(&inject, mode, s->kinds, k);
    const takt_status status = s->scenario(&inject, s->user);
    takt_inject_check(&inject);
    const uint64_t hits = inject.hits;
    const int64_t files = inject.open_files, threads = inject.live_threads;
    const uint64_t bytes = inject.live_bytes;
    s->report.operations = mode == TAKT_INJECT_OFF ? inject.operations : s->report.operations;
    s->report.runs += hits > 0;
    s->report.survived += hits > 0 && status == TAKT_OK;
    const uint64_t leaked = takt_inject_deinit(&inject);
    const bool is_right = hits > 0 ? may_return(s, status) : status == TAKT_OK;
    if (is_right && leaked == 0 && files == 0 && threads == 0 && inject.faults == 0)
        return hits > 0;
    s->report.is_good = false;
    snprintf(s->report.message, sizeof s->report.message,
             "mode %s, operation %llu of %llu: %s; leaked %llu blocks (%llu bytes), %lld files, "
             "%lld threads; %d memory faults%s%s",
             mode == TAKT_INJECT_OFF    ? "off"
             : mode == TAKT_INJECT_ONCE ? "once"
                                        : "ever",
             (unsigned long long)k, (unsigned long long)s->report.operations,
             takt_status_name(status), (unsigned long long)leaked, (unsigned long long)bytes,
             (long long)files, (long long)threads, inject.faults, inject.faults > 0 ? ": " : "",
             inject.fault);
    return false;
}

static takt_sweep_report sweep_all(sweep *s, uint64_t most)
{
    static const takt_inject_mode modes[] = {TAKT_INJECT_ONCE, TAKT_INJECT_EVER};
    s->report.is_good = true;
    run(s, TAKT_INJECT_OFF, 0);
    const uint64_t step = s->report.operations / most + 1;
    for (size_t m = 0; m < 2; m++) {
        uint64_t k = 1 + m * (step / 2); /* both modes together cover more of them */
        while (s->report.is_good && k < MOST_RUNS && run(s, modes[m], k))
            k += step;
    }
    return s->report;
}

takt_sweep_report takt_sweep_error(takt_scenario *scenario, void *user, unsigned kinds, int error)
{
    sweep s = {.scenario = scenario, .user = user, .kinds = kinds, .error = error};
    return sweep_all(&s, MOST_RUNS);
}

takt_sweep_report takt_sweep_some(takt_scenario *scenario, void *user, unsigned kinds,
                                  uint64_t most)
{
    sweep s = {.scenario = scenario, .user = user, .kinds = kinds, .error = EIO};
    return sweep_all(&s, most);
}

takt_sweep_report takt_sweep(takt_scenario *scenario, void *user, unsigned kinds)
{
    return takt_sweep_error(scenario, user, kinds, EIO);
}
