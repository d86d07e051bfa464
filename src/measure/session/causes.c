/* causes.c - costs of a run other than the work of its steps, each cause with its figure: waiting
 * threads, copies, memory, files, messages, mispredicted branches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/session/measure.h"
#include "os/counter.h"
#include "os/os.h"

enum { FIGURE = TAKT_FIGURE_TEXT, COUNTED_RUNS = 8, MISS_CYCLES = 15, SHOWN_THREADS = 8 };

/* ---- measuring ---- */

/* Events of the calling thread in some runs; 0 if they are not counted, with the reason. */
static takt_status count(takt_profile *p, takt_session *s, takt_event event, double *per_run)
{
    uint64_t value = 0;
    takt_status status = TAKT_OK;
    const int counter = takt_counter_open(event);
    if (counter < 0) {
        takt_os_reason(-counter, p->rest.counters, sizeof p->rest.counters);
        return TAKT_OK;
    }
    takt_counter_begin(counter);
    for (int i = 0; i < COUNTED_RUNS && status == TAKT_OK; i++)
        status = takt_session_run(s);
    if (takt_counter_end(counter, &value))
        *per_run = (double)value / COUNTED_RUNS;
    else
        snprintf(p->rest.counters, sizeof p->rest.counters, "others use the counters");
    takt_counter_close(counter);
    return status;
}

takt_status takt_profile_look_aside(takt_profile *p, takt_session *s)
{
    TAKT_TRY(count(p, s, TAKT_EVENT_BRANCH_MISSES, &p->rest.branch_misses));
    if (p->rest.counters[0] == '\0')
        TAKT_TRY(count(p, s, TAKT_EVENT_CYCLES, &p->rest.cycles));
    return TAKT_OK;
}

/* ---- telling ---- */

static void sync(const takt_profile *p, takt_finding *f)
{
    const size_t threads = (size_t)p->plan->threads;
    double wall = 0, imbalance = 0, shared = 0;
    int length = 0;
    *f = (takt_finding){.cause = "synchronisation", .is_waiting = true};
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_profile_row *row = &p->rows[i];
        f->gain += row->share * row->wait;
        imbalance = fmax(imbalance, row->imbalance);
        wall += row->step->task_count > 1 ? row->median_ns : 0;
        shared += row->step->task_count > 1 ? row->share : 0;
    }
    if (threads <= 1 || !(wall > 0)) {
        snprintf(f->figure, sizeof f->figure, "no step is shared between threads");
        return;
    }
    length = snprintf(f->figure, sizeof f->figure,
                      "threads wait in steps that they share, %.0f %% of the run:", 100 * shared);
    for (size_t t = 0; t < threads && t < SHOWN_THREADS && length > 0; t++) {
        double busy = 0;
        for (size_t i = 0; i < p->plan->step_count; i++)
            busy += p->busy_ns[i * threads + t];
        length +=
            snprintf(f->figure + length, sizeof f->figure - (size_t)length, "%s thread %zu %.0f %%",
                     t > 0 ? "," : "", t, 100 * fmax(0, 1 - busy / wall));
    }
    snprintf(f->figure + length, sizeof f->figure - (size_t)length, "; largest imbalance %.0f %%",
             100 * imbalance);
    snprintf(f->remedy, sizeof f->remedy, "%s",
             takt_other_load_disturbs(&p->rest.others, p->plan->threads)
                 ? "measure again on a quiet machine: other processes took processor time"
                 : "a larger batch gives each thread more; --threads 1, or --hint throughput with "
                   "several sessions, avoids waiting");
}

static void loading(const takt_profile *p, takt_finding *f)
{
    char a[FIGURE], b[FIGURE];
    const double ns = fmax(p->timing.stats.median, 1);
    *f = (takt_finding){.cause = "data loading"};
    f->gain = fmin(1, (p->moves_ns + p->timing.copy_ns) / (ns + p->timing.copy_ns));
    if (p->moves > 0)
        snprintf(f->figure, sizeof f->figure, "every run copies %s: %s", p->move_names,
                 takt_figure_time(p->moves_ns, a));
    else
        snprintf(f->figure, sizeof f->figure, "copying the inputs would take %s, a run takes %s",
                 takt_figure_time(p->timing.copy_ns, a), takt_figure_time(ns, b));
    snprintf(f->remedy, sizeof f->remedy,
             "bind dense buffers where the data lies (takt_session_bind), or let takt_run_many "
             "load while it computes");
}

static void allocation(const takt_profile *p, takt_finding *f)
{
    *f = (takt_finding){.cause = "allocation"};
    f->gain = p->rest.allocations > 0 ? fmin(1, p->rest.allocations * 100 / fmax(p->run_ns, 1)) : 0;
    snprintf(f->figure, sizeof f->figure, "%.4g a run (about 100 ns each)", p->rest.allocations);
    snprintf(f->remedy, sizeof f->remedy,
             "let functions of your own (takt_register_op) use buffers that they have already");
}

static void serialisation(const takt_profile *p, takt_finding *f)
{
    char a[FIGURE], b[FIGURE];
    *f = (takt_finding){.cause = "serialisation"};
    snprintf(f->figure, sizeof f->figure, "loading %s and planning %s once, nothing in a run",
             p->rest.load_ns > 0 ? takt_figure_time(p->rest.load_ns, a) : "unknown",
             takt_figure_time((double)p->plan->made_ns, b));
    snprintf(f->remedy, sizeof f->remedy, "keep the plan, and the model as .taktp");
}

static void logging(const takt_profile *p, takt_finding *f)
{
    *f = (takt_finding){.cause = "logging"};
    f->gain = fmin(1, p->rest.log_ns / fmax(p->run_ns, 1));
    snprintf(f->figure, sizeof f->figure, "%.4g messages a run", p->rest.messages);
    snprintf(f->remedy, sizeof f->remedy, "log less, or elsewhere, in the callback of the context");
}

static void branches(const takt_profile *p, takt_finding *f)
{
    *f = (takt_finding){.cause = "branch"};
    if (!(p->rest.cycles > 0)) {
        f->is_unknown = true;
        snprintf(
            f->figure, sizeof f->figure,
            "mispredictions are unavailable: the processor's counters are not granted here%s%s%s",
            p->rest.counters[0] != '\0' ? " (" : "", p->rest.counters,
            p->rest.counters[0] != '\0' ? ")" : "");
        return;
    }
    f->gain = fmin(1, MISS_CYCLES * p->rest.branch_misses / p->rest.cycles);
    snprintf(f->figure, sizeof f->figure, "%.0f branches guessed wrongly in %.0f cycles",
             p->rest.branch_misses, p->rest.cycles);
    snprintf(f->remedy, sizeof f->remedy,
             "sort what decides (indices, masks), or compute both sides with select");
}

static void machine(const takt_profile *p, takt_finding *f)
{
    const takt_other_load *o = &p->rest.others;
    *f = (takt_finding){.cause = "machine"};
    if (o->usable == 0) {
        f->is_unknown = true;
        snprintf(f->figure, sizeof f->figure, "unavailable: the system does not tell its load");
        return;
    }
    f->gain = takt_other_load_share(o, p->plan->threads);
    snprintf(f->figure, sizeof f->figure,
             "other processes used %.1f of %d processors meanwhile; steal time %.1f %%",
             o->processors, o->usable, o->steal_pct);
    snprintf(f->remedy, sizeof f->remedy,
             "measure again on a quiet machine; `takt benchmark verify --env` lists what runs");
}

void takt_profile_causes(const takt_profile *p, takt_finding findings[TAKT_REST_FINDINGS])
{
    sync(p, &findings[0]);
    loading(p, &findings[1]);
    allocation(p, &findings[2]);
    serialisation(p, &findings[3]);
    logging(p, &findings[4]);
    branches(p, &findings[5]);
    machine(p, &findings[TAKT_REST_MACHINE]);
}
