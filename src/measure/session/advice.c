/* advice.c - the findings of a profile: one cause, one figure, one remedy and the largest gain
 * each; the steps that take 80 % of the time first, then the whole run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "measure/session/measure.h"

enum { FIGURE = TAKT_FIGURE_TEXT, MOST = 8 };

/* Causes that could save less than this are ruled out. */
static const double least_gain = 0.02;

/* The element-wise step that reads what `row` writes, and might be fused with it; or NULL. */
static const takt_profile_row *follower(const takt_profile *p, const takt_profile_row *row)
{
    const size_t at = (size_t)(row - p->rows);
    for (size_t i = at + 1; i < p->plan->step_count; i++) {
        const takt_step *s = p->rows[i].step;
        if (s->facts.work != TAKT_WORK_MAP)
            continue;
        for (size_t k = 0; k < s->in_count; k++)
            if (row->step->out_count > 0 && s->in[k].buffer == row->step->out[0].buffer)
                return &p->rows[i];
    }
    return NULL;
}

static double gain_of(const takt_profile_row *row)
{
    const double reachable = 1 - fmin(1, row->percent / 100);
    return row->share * reachable;
}

static void explain_compute(const takt_profile *p, const takt_profile_row *row, takt_finding *f)
{
    char a[FIGURE], b[FIGURE];
    f->cause = "arithmetic";
    f->gain = gain_of(row);
    snprintf(f->figure, sizeof f->figure,
             "compute-bound at %.0f %% of this machine's %s on %d thread%s; at the ceiling it "
             "would take %s",
             row->percent, takt_figure_scaled(row->roof.gflops * 1e9, "FLOP/s", a),
             row->roof.threads, row->roof.threads > 1 ? "s" : "",
             takt_figure_time(row->roof.floor_ns, b));
    if (row->percent > 75)
        snprintf(f->remedy, sizeof f->remedy, "only less arithmetic (int8, pruning) helps");
    else if (row->roof.threads < p->plan->threads)
        snprintf(f->remedy, sizeof f->remedy, "a larger batch is shared between %d threads",
                 p->plan->threads);
    else if (row->step->facts.work == TAKT_WORK_PRODUCT)
        snprintf(f->remedy, sizeof f->remedy,
                 "a larger batch, other sizes of blocks (--tile), or another library (--backend "
                 "blas)");
    else
        snprintf(f->remedy, sizeof f->remedy,
                 "a cheaper function (relu is the fastest, gelu and softmax the slowest), or a "
                 "larger batch");
}

static void explain_memory(const takt_profile *p, const takt_profile_row *row, takt_finding *f)
{
    char a[FIGURE], b[FIGURE];
    const takt_profile_row *next = follower(p, row);
    f->cause = row->roof.level < TAKT_LEVELS - 1 ? "cache" : "bandwidth";
    f->gain = gain_of(row);
    snprintf(f->figure, sizeof f->figure,
             "memory-bound (%s) at %.0f %% of this machine's %s; it moves %s", row->bound,
             row->percent, takt_figure_scaled(row->roof.gbs * 1e9, "B/s", a),
             takt_figure_scaled(row->roof.bytes, "B", b));
    if (next != NULL) {
        f->gain = fmax(f->gain, next->share);
        snprintf(f->remedy, sizeof f->remedy, "fuse the following %.120s, %.1f %% of the run",
                 next->step->name, 100 * next->share);
    } else if (row->percent > 75) {
        snprintf(f->remedy, sizeof f->remedy,
                 "only fewer bytes (a larger batch per weight, f16, int8) help");
    } else {
        snprintf(f->remedy, sizeof f->remedy, "%s",
                 row->roof.level < TAKT_LEVELS - 1
                     ? "a smaller batch stays in the cache above; other blocks (--tile)"
                     : "a smaller batch, fusion, results in place");
    }
}

static void explain_waiting(const takt_profile *p, const takt_profile_row *row, takt_finding *f)
{
    const size_t threads = (size_t)p->plan->threads, step = (size_t)(row - p->rows);
    f->cause = "synchronisation";
    f->is_waiting = true;
    f->gain = row->share * row->wait;
    double idle = 0;
    int length = snprintf(f->figure, sizeof f->figure,
                          "its %zu tasks leave threads waiting:", row->step->task_count);
    for (size_t t = 0; t < threads; t++) {
        const double part = fmax(0, 1 - p->busy_ns[step * threads + t] / row->median_ns);
        idle = fmax(idle, part);
        if (t < MOST && length > 0)
            length += snprintf(f->figure + length, sizeof f->figure - (size_t)length,
                               "%s thread %zu %.0f %%", t > 0 ? "," : "", t, 100 * part);
    }
    snprintf(f->figure + length, sizeof f->figure - (size_t)length,
             " of the time; the busiest works %.0f %% longer than the average",
             100 * row->imbalance);
    snprintf(f->remedy, sizeof f->remedy, "%s",
             takt_other_load_disturbs(&p->rest.others, p->plan->threads)
                 ? "measure again on a quiet machine: other processes took processor time"
             : idle > 0.95 ? "a thread was mostly idle: others use its processor (`takt benchmark "
                             "verify --env`), or it slept (--spin)"
             : row->imbalance > 0.2 ? "a batch or size that the threads divide evenly"
                                    : "a larger batch: the step is short against waking a thread");
}

/* A step of a device, or a copy. */
static void explain_device(const takt_profile_row *row, takt_finding *f)
{
    char a[FIGURE], b[FIGURE];
    const bool is_copy = row->step->transfer.way != TAKT_COPY_NONE;
    if (row->limit == TAKT_BOUND_UNKNOWN) {
        snprintf(f->figure, sizeof f->figure, "the device's ceilings are not known");
        snprintf(f->remedy, sizeof f->remedy,
                 "`takt benchmark system --measure` says whether they can be measured");
    } else if (row->limit == TAKT_BOUND_OVERHEAD) {
        snprintf(f->figure, sizeof f->figure,
                 "launch-bound: the work takes %s at the ceiling, a launch with its wait %s",
                 takt_figure_time(row->roof.floor_ns, a), takt_figure_time(row->roof.launch_ns, b));
        snprintf(f->remedy, sizeof f->remedy, "%s",
                 is_copy ? "buffers that lie on the device are bound without a copy"
                         : "a larger batch; outside of a profile steps share one launch");
    } else if (row->limit == TAKT_BOUND_COMPUTE) {
        f->cause = "arithmetic";
        snprintf(f->figure, sizeof f->figure,
                 "bound by FMA at %.0f %% of the device's %s; at the ceiling it would take %s",
                 row->percent, takt_figure_scaled(row->roof.gflops * 1e9, "FLOP/s", a),
                 takt_figure_time(row->roof.floor_ns, b));
        snprintf(f->remedy, sizeof f->remedy, "%s",
                 row->percent > 75 ? "only less arithmetic helps"
                                   : "a larger batch fills more of the device");
    } else {
        f->cause = "bandwidth";
        snprintf(f->figure, sizeof f->figure,
                 "bound by %s at %.0f %% of the device's %s; it moves %s", row->bound, row->percent,
                 takt_figure_scaled(row->roof.gbs * 1e9, "B/s", a),
                 takt_figure_scaled(row->roof.bytes, "B", b));
        snprintf(f->remedy, sizeof f->remedy, "%s",
                 is_copy             ? "buffers that lie on the device are bound without a copy"
                 : row->percent > 75 ? "only fewer bytes help"
                                     : "a larger batch fills more of the device");
    }
}

static void explain(const takt_profile *p, const takt_profile_row *row, takt_finding *f)
{
    char a[FIGURE];
    const bool is_generic = row->step->facts.is_generic;
    *f = (takt_finding){.cause = "overhead", .gain = gain_of(row)};
    if (row->roof.away != NULL) {
        explain_device(row, f);
    } else if (row->wait > 0.25 && row->share * row->wait > least_gain) {
        explain_waiting(p, row, f);
    } else if (is_generic && row->percent < 50) {
        f->cause = "kernel";
        snprintf(
            f->figure, sizeof f->figure, "no fast kernel%s%.200s; at the ceiling it would take %s",
            row->step->note != NULL ? ": " : "", row->step->note != NULL ? row->step->note : "",
            takt_figure_time(row->roof.floor_ns, a));
        snprintf(f->remedy, sizeof f->remedy, "see `takt kernels` for what was refused and why");
    } else if (row->limit == TAKT_BOUND_OVERHEAD) {
        snprintf(f->figure, sizeof f->figure, "mostly overhead (%s for %.0f FLOP)",
                 takt_figure_time(row->median_ns, a), row->roof.flops);
        snprintf(f->remedy, sizeof f->remedy, "a larger batch spreads it");
    } else if (row->limit == TAKT_BOUND_COMPUTE) {
        explain_compute(p, row, f);
    } else {
        explain_memory(p, row, f);
    }
    if (row->percent <= 75 && !f->is_waiting &&
        takt_other_load_disturbs(&p->rest.others, p->plan->threads)) {
        char remedy[sizeof f->remedy];
        memcpy(remedy, f->remedy, sizeof remedy);
        snprintf(f->remedy, sizeof f->remedy, "if a quiet machine shows the same: %.200s", remedy);
    }
}

/* A step's description, without its name. */
static const char *work_of(const takt_profile_row *row)
{
    return row->step->does != NULL ? row->step->does : row->step->name;
}

/* The blocks of a model have steps that differ only in name: one finding is enough. */
static bool is_alike(const takt_profile_row *a, const takt_profile_row *b)
{
    const double ratio = a->median_ns / fmax(b->median_ns, 1);
    return a->roof.flops == b->roof.flops && a->roof.bytes == b->roof.bytes && ratio < 1.5 &&
           ratio > 1 / 1.5 && strcmp(work_of(a), work_of(b)) == 0;
}

static bool is_slower(const void *a, const void *b)
{
    const takt_profile_row *x = a, *y = b;
    return x->median_ns != y->median_ns ? x->median_ns > y->median_ns : x < y;
}

/* `step` NULL: the whole run. */
static void say(takt_report *r, const char *step, const takt_finding *f)
{
    if (!r->is_json) {
        takt_text_add(&r->text, "- %s: %s\n    %s (saves at most %.1f %% of the run)\n",
                      step != NULL ? step : f->cause, f->figure, f->remedy, 100 * f->gain);
        return;
    }
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "step", step != NULL ? step : "");
    takt_report_pair(r, "cause", f->cause);
    takt_report_pair(r, "figure", f->figure);
    takt_report_pair(r, "remedy", f->remedy);
    takt_json_put_number(&r->json, "largest_gain", f->gain);
    takt_json_close(&r->json, '}');
}

/* Removes the first of `rows` and all similar ones; returns their share. */
static double say_alike(const takt_profile *p, takt_report *r, const void **rows, size_t count,
                        double *waited)
{
    const takt_profile_row *row = rows[0];
    size_t alike = 0;
    double share = 0;
    char name[256];
    takt_finding f;
    for (size_t i = 0; i < count; i++) {
        const takt_profile_row *other = rows[i];
        if (other == NULL || !is_alike(row, other))
            continue;
        share += other->share;
        alike++;
        rows[i] = NULL;
    }
    explain(p, row, &f);
    f.gain = row->share > 0 ? fmin(1, f.gain * share / row->share) : 0;
    *waited += f.is_waiting ? f.gain : 0;
    if (alike > 1)
        snprintf(name, sizeof name, "%.180s and %zu more like it", row->step->name, alike - 1);
    else
        snprintf(name, sizeof name, "%.250s", row->step->name);
    say(r, name, &f);
    return share;
}

/* Steps that run on one thread while the others are idle. */
static void say_single_threaded(const takt_profile *p, takt_report *r)
{
    takt_finding f = {.cause = "threads"};
    double single = 0;
    for (size_t i = 0; i < p->plan->step_count; i++)
        single += p->rows[i].roof.threads == 1 ? p->rows[i].share : 0;
    f.gain = single * (1 - 1 / (double)p->plan->threads);
    snprintf(f.figure, sizeof f.figure,
             "%.0f %% of the time is spent in steps that are too small to share", 100 * single);
    snprintf(f.remedy, sizeof f.remedy,
             "a larger batch, or --hint throughput with several "
             "sessions");
    if (p->plan->threads > 1 && single > 0.2)
        say(r, NULL, &f);
}

/* Checked before any other cause. */
static void say_machine(const takt_profile *p, takt_report *r)
{
    takt_finding f[TAKT_REST_FINDINGS];
    takt_profile_causes(p, f);
    if (f[TAKT_REST_MACHINE].gain >= least_gain)
        say(r, NULL, &f[TAKT_REST_MACHINE]);
}

/* Causes that were ruled out, or that could not be examined. */
static void say_others(takt_report *r, const takt_finding *f, bool are_unknown)
{
    bool is_first = true;
    if (r->is_json) {
        takt_json_close(&r->json, ']');
        takt_json_put_open(&r->json, are_unknown ? "unknown" : "ruled_out", '[');
    }
    for (size_t i = 0; i < TAKT_REST_FINDINGS; i++) {
        if (f[i].gain >= least_gain || f[i].is_unknown != are_unknown)
            continue;
        if (r->is_json)
            say(r, NULL, &f[i]);
        else
            takt_text_add(&r->text, "%s  %s: %s\n",
                          !is_first     ? ""
                          : are_unknown ? "not known here:\n"
                                        : "not the cause:\n",
                          f[i].cause, f[i].figure);
        is_first = false;
    }
}

/* Advice about the whole run; `waited`: time that was attributed to steps already. */
static void say_rest(const takt_profile *p, takt_report *r, double waited)
{
    takt_finding f[TAKT_REST_FINDINGS];
    takt_profile_causes(p, f);
    for (size_t i = 0; i < TAKT_REST_MACHINE; i++)
        if (f[i].gain >= least_gain && (i > 0 || waited < 0.8 * f[i].gain))
            say(r, NULL, &f[i]);
    say_others(r, f, false);
    say_others(r, f, true);
}

void takt_profile_advice(const takt_profile *p, takt_report *r)
{
    takt_arena arena;
    double seen = 0, waited = 0;
    if (!p->has_ceilings || p->plan->step_count == 0)
        return;
    takt_arena_init(&arena, p->ctx);
    const void **order = takt_arena_array(&arena, p->plan->step_count, sizeof *order);
    r->text.status = order != NULL ? r->text.status : TAKT_ERR_MEMORY;
    for (size_t i = 0; order != NULL && i < p->plan->step_count; i++)
        order[i] = &p->rows[i];
    if (order != NULL)
        takt_sort_pointers(order, p->plan->step_count, is_slower);
    if (r->is_json) {
        takt_json_put_open(&r->json, "findings", '[');
    } else {
        takt_text_add(&r->text, "\n");
    }
    say_machine(p, r);
    for (size_t said = 0, i = 0; order != NULL && i < p->plan->step_count; i++)
        if (order[i] != NULL && said < MOST && seen < 0.8) {
            seen += say_alike(p, r, order + i, p->plan->step_count - i, &waited);
            said++;
        }
    say_single_threaded(p, r);
    say_rest(p, r, waited);
    if (r->is_json)
        takt_json_close(&r->json, ']');
    takt_arena_deinit(&arena);
}
