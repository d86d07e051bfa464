/* environment.c - `takt benchmark verify --env`: is this machine fit for benchmarks? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "kernel/peak/peak.h"
#include "kernel/stream/stream.h"
#include "measure/bench.h"
#include "measure/session/measure.h"
#include "os/facts.h"
#include "os/other_load.h"
#include "os/processes.h"
#include "stats/compare.h"

typedef struct check_list {
    takt_report *r;
    takt_table *t;
    takt_environment *found;
} check_list;

/* One finding; `fix` NULL: no problem. */
static void say(check_list *c, const char *what, const char *value, const char *fix)
{
    c->found->warnings += fix != NULL;
    if (!c->r->is_json) {
        takt_table_cell(c->t, "%s", fix != NULL ? "!" : "");
        takt_table_cell(c->t, "%s", what);
        takt_table_cell(c->t, "%s", value);
        takt_table_cell(c->t, "%s", fix != NULL ? fix : "");
        return;
    }
    takt_json_open(&c->r->json, '{');
    takt_report_pair(c->r, "check", what);
    takt_report_pair(c->r, "value", value);
    takt_report_pair(c->r, "fix", fix);
    takt_json_close(&c->r->json, '}');
}

static void from_file(check_list *c, const char *what, const char *path, const char *good,
                      const char *fix)
{
    char value[128];
    if (!takt_fact_text("", path, value, sizeof value))
        say(c, what, "unavailable", NULL);
    else
        say(c, what, value, strcmp(value, good) == 0 ? NULL : fix);
}

#define GOVERNOR "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
#define SET_GOVERNOR "sudo cpupower frequency-set -g performance"

static void check_processors(check_list *c, const takt_cpu_facts *f)
{
    char text[64];
    if (takt_fact_text("", GOVERNOR, text, sizeof text))
        from_file(c, "governor", GOVERNOR, "performance", SET_GOVERNOR);
    else
        say(c, "governor", "unreadable; where the machine is yours: " SET_GOVERNOR, NULL);
    from_file(c, "turbo off (Intel)", "/sys/devices/system/cpu/intel_pstate/no_turbo", "1",
              "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo");
    from_file(c, "turbo off (others)", "/sys/devices/system/cpu/cpufreq/boost", "0",
              "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost");
    from_file(c, "hyper-threading", "/sys/devices/system/cpu/smt/active", "0",
              "echo off | sudo tee /sys/devices/system/cpu/smt/control");
    from_file(c, "address randomisation", "/proc/sys/kernel/randomize_va_space", "0",
              "setarch -R takt ... for a run without it");
    snprintf(text, sizeof text, "%.2f processors", f->quota);
    say(c, "cgroup quota", f->quota > 0 ? text : "none",
        f->quota > 0 && f->quota < f->usable ? "use no more threads than the quota" : NULL);
    say(c, "huge pages", f->huge_pages[0] != '\0' ? f->huge_pages : "unknown",
        strcmp(f->huge_pages, "never") == 0
            ? "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
            : NULL);
    uint64_t pages;
    if (takt_fact_number("", "/proc/sys/vm/nr_hugepages", &pages)) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)pages);
        say(c, "huge pages reserved", text, NULL); /* Takt does without */
    }
}

static void check_limits(check_list *c)
{
    char text[TAKT_FACT_TEXT], value[128], degrees[32];
    uint64_t milli;
    if (takt_fact_text("", "/proc/self/limits", text, sizeof text) &&
        takt_fact_field(text, "Max open files", value, sizeof value)) {
        uint64_t files;
        const bool few = takt_fact_parse(value, &files) && files < 1024;
        value[strcspn(value, " ")] = '\0';
        say(c, "open files", value, few ? "ulimit -n 10240" : NULL);
    }
    if (takt_fact_number("", "/sys/class/thermal/thermal_zone0/temp", &milli)) {
        snprintf(degrees, sizeof degrees, "%.0f C", (double)milli / 1000);
        say(c, "temperature", degrees, milli > 85000 ? "let the machine cool down" : NULL);
    } else {
        say(c, "temperature", "unavailable", NULL);
    }
    const bool debug = takt_build_is_debug();
    say(c, "build", debug ? "debug: every result is marked" : "optimised",
        debug ? "cmake -DCMAKE_BUILD_TYPE=Release" : NULL);
}

/* ---- load ---- */

static double read_load(void)
{
    char text[128];
    double load;
    if (!takt_fact_text("", "/proc/loadavg", text, sizeof text) ||
        !takt_number_read(text, strcspn(text, " "), &load))
        return -1;
    return load;
}

static void check_load(check_list *c, const takt_cpu_facts *f)
{
    char shown[64];
    if (c->found->load < 0 || c->found->grade == '?') {
        say(c, "load", "unknown: /proc cannot be read",
            "mount /proc where this runs; without it nobody can tell whether the machine is quiet");
        return;
    }
    snprintf(shown, sizeof shown, "%.2f on %d processors", c->found->load, f->usable);
    say(c, "load", shown,
        c->found->load > 0.3 * f->usable ? "wait until what is listed as busy below is done"
                                         : NULL);
    snprintf(shown, sizeof shown, "%.2f of %d processors", c->found->others, f->usable);
    say(c, "used by others", shown,
        c->found->others > 0.05 ? "wait until they are done, or measure on a machine of your own"
                                : NULL);
}

/* A process that is always runnable disturbs measurements, however little time it gets. It may
 * belong to another user, so stopping it is never proposed. */
static void check_processes(check_list *c, const takt_busy *busiest, size_t count)
{
    char value[96];
    for (size_t i = 0; i < count; i++) {
        snprintf(value, sizeof value, "%s (process %d): %.0f %% of a processor", busiest[i].name,
                 busiest[i].id, busiest[i].percent);
        const char *fix = busiest[i].is_kernel || busiest[i].id == 1
                              ? "wait: it works for the system"
                              : "wait until it is done";
        say(c, "busy", value, busiest[i].percent > 3 ? fix : NULL);
    }
    if (count == 0)
        say(c, "busy", "nobody else", NULL);
}

/* ---- A/A ---- */

enum { AA_RUNS = 1200, AA_FLOATS = 1 << 20 };

/* Multiply-adds for about a fifth of a millisecond, then a pass over memory; repeated. */
static takt_status run_same(takt_ctx *ctx, takt_environment *found, takt_other_load *others)
{
    const takt_kernel *k = takt_kernel_find("peak_f32", takt_isa_detect(), NULL, 0, NULL);
    _Alignas(64) float ones[TAKT_PEAK_BYTES / sizeof(float)];
    const takt_kernel *walk = takt_kernel_find("stream", takt_isa_detect(), NULL, 0, NULL);
    takt_stream stream = {.kind = TAKT_STREAM_READ, .streams = 4, .count = AA_FLOATS};
    takt_ticks begun, ended;
    double sum = 0;
    void *block, *floats;
    for (size_t i = 0; i < TAKT_PEAK_BYTES / sizeof *ones; i++)
        ones[i] = 1;
    TAKT_TRY(takt_mem_zero(ctx, AA_RUNS, sizeof(double), "the A/A comparison", &block));
    if (takt_mem_zero(ctx, AA_FLOATS, sizeof(float), "the A/A comparison", &floats) != TAKT_OK) {
        takt_mem_put(ctx, block, AA_RUNS * sizeof(double));
        return TAKT_ERR_MEMORY;
    }
    stream.a = floats;
    double *times = block;
    takt_ticks_read(&begun);
    size_t rounds = 1000;
    for (int i = 0; i < AA_RUNS; i++) {
        const uint64_t start = ctx->now_ns(ctx->clock_user);
        takt_kernel_as_peak_f32(k)(rounds, ones, &sum);
        sum += takt_kernel_as_stream(walk)(&stream);
        times[i] = fmax(1, (double)(ctx->now_ns(ctx->clock_user) - start));
        if (i == 20) /* the clock has settled: from here on 200 us each */
            rounds = (size_t)fmax(1, 1000 * 2e5 / times[i]);
    }
    takt_ticks_read(&ended);
    *others = takt_ticks_between(&begun, &ended);
    found->steal_pct = others->steal_pct;
    found->others = others->processors;
    double floor;
    const takt_status status = takt_noise_floor(ctx, times + 48, AA_RUNS - 48, &floor);
    found->noise_pct = 100 * floor;
    takt_mem_put(ctx, floats, AA_FLOATS * sizeof(float));
    takt_mem_put(ctx, block, AA_RUNS * sizeof(double));
    return status;
}

/* And which other processes are busy meanwhile. */
static takt_status run_watched(takt_ctx *ctx, takt_environment *found, takt_other_load *others,
                               takt_busy busiest[TAKT_BUSIEST], size_t *count)
{
    takt_process_list before, after;
    TAKT_TRY(takt_processes_read(ctx, "", &before));
    takt_status status = run_same(ctx, found, others);
    if (status == TAKT_OK)
        status = takt_processes_read(ctx, "", &after);
    if (status == TAKT_OK) {
        *count = takt_processes_busiest(&before, &after, busiest);
        takt_processes_free(ctx, &after);
    }
    takt_processes_free(ctx, &before);
    return status;
}

static void check_noise(check_list *c)
{
    char text[64];
    const takt_environment *e = c->found;
    snprintf(text, sizeof text, "%.2f %%", e->steal_pct);
    say(c, "steal time", text,
        e->steal_pct > 0.5 ? "choose a machine whose processors are your own" : NULL);
    snprintf(text, sizeof text, "%.2f %%", e->noise_pct);
    say(c, "A/A difference", text,
        e->noise_pct > 1.5 ? "takt benchmark compare --duration 30: more blocks show less" : NULL);
}

/* Load of the last minute may return during a measurement. Unreadable values count as not quiet. */
char takt_environment_grade(const takt_environment *e, const takt_other_load *o)
{
    if (e->load < 0 || o->usable <= 0)
        return '?';
    const char now = takt_noise_grade(e->noise_pct, o);
    const char usual = e->load > o->usable ? 'C' : e->load > 0.3 * o->usable ? 'B' : 'A';
    return usual > now ? usual : now;
}

static void finish(check_list *c)
{
    const takt_environment *e = c->found;
    const char text[2] = {e->grade, '\0'};
    if (c->r->is_json) {
        takt_json_close(&c->r->json, ']');
        takt_report_pair(c->r, "grade", text);
        takt_json_put_number(&c->r->json, "smallest_change_pct", e->noise_pct);
        if (e->load >= 0) /* absent: unknown */
            takt_json_put_number(&c->r->json, "load", e->load);
        takt_json_put_number(&c->r->json, "others_processors", e->others);
        takt_report_count(c->r, "warnings", e->warnings);
        return;
    }
    takt_table_print(c->t, &c->r->text);
    takt_text_add(&c->r->text, "\ngrade %s: ", text);
    if (e->grade == '?')
        takt_text_add(&c->r->text, "what others do here is unknown; ");
    if (e->others > 0.05)
        takt_text_add(&c->r->text, "others computed meanwhile; ");
    takt_text_add(&c->r->text,
                  "the smallest change that shows here today is about "
                  "%.2f %%; %zu finding%s\n",
                  e->noise_pct, e->warnings, e->warnings == 1 ? "" : "s");
}

takt_status takt_environment_check(takt_ctx *ctx, takt_environment *found, takt_format format,
                                   takt_sink_fn *sink, void *user)
{
    takt_cpu_facts facts;
    takt_report r;
    takt_table t;
    takt_busy busiest[TAKT_BUSIEST];
    takt_other_load others;
    size_t busy = 0;
    *found = (takt_environment){.grade = 'D', .load = read_load()};
    TAKT_TRY(run_watched(ctx, found, &others, busiest, &busy));
    found->grade = takt_environment_grade(found, &others);
    takt_cpu_read(&facts);
    takt_report_begin(&r, ctx, format);
    takt_table_init(&t, ctx, "llll");
    check_list c = {&r, &t, found};
    if (r.is_json) {
        takt_json_put_open(&r.json, "checks", '[');
    }
    check_processors(&c, &facts);
    check_limits(&c);
    check_load(&c, &facts);
    check_processes(&c, busiest, busy);
    check_noise(&c);
    finish(&c);
    const takt_status status = t.status;
    takt_table_deinit(&t);
    return takt_report_end(&r, status, sink, user);
}
