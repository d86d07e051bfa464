/* bench_usage_text.c - load, SLO, utilisation, energy, events and processes for people. */
#include <math.h>
#include <string.h>

#include "measure/bench.h"
#include "measure/cache.h"
#include "measure/plot_axis.h"

/* "534.7", "20560": no exponents. */
static void put_rate(takt_text *text, double rate, const char *unit)
{
    takt_text_add(text, rate < 1000 ? "%.4g %s" : "%.0f %s", rate, unit);
}

/* "9.615 ms", "1 us". */
static void put_time(takt_text *text, double ns)
{
    double scale;
    const char *unit = takt_time_unit(ns, &scale);
    takt_text_add(text, "%.4g %s", ns * scale, unit);
}

static void say_load(takt_text *text, const takt_bench_row *r)
{
    const takt_bench_usage *m = &r->usage;
    takt_text_add(text, "  %s, %zu stream%s:", takt_scenario_name(m->scenario), m->streams,
                  m->streams == 1 ? "" : "s");
    takt_text_add(text, " ");
    if (m->scenario == TAKT_SERVER)
        put_rate(text, m->qps_asked, "queries/s asked, ");
    put_rate(text, m->qps, "queries/s answered, ");
    put_rate(text, takt_bench_rate(r), "samples/s");
    if (m->scenario == TAKT_SERVER) {
        takt_text_add(text, "; half the queries wait ");
        put_time(text, m->waiting.median);
        takt_text_add(text, " or less until somebody is free");
    }
    takt_text_add(text, "\n");
    if (m->unanswered > 0)
        takt_text_add(text,
                      "  it falls behind: %zu queries had no answer when time was up, so "
                      "percentiles are lower bounds\n",
                      m->unanswered);
}

static void say_peak(takt_text *text, const takt_bench_usage *m)
{
    for (size_t i = 0; i < m->peak.try_count; i++) {
        takt_text_add(text, "  tried %8.0f queries/s: p%g ", m->peak.tries[i].qps,
                      100 * m->slo.part);
        put_time(text, m->peak.tries[i].value_ns);
        takt_text_add(text, ", %s\n", m->peak.tries[i].met ? "kept" : "not kept");
    }
    takt_text_add(text, "  peak: ");
    if (m->peak.qps > 0)
        put_rate(text, m->peak.qps, "queries/s with");
    else
        takt_text_add(text, "none;");
    takt_text_add(text, " p%g within ", 100 * m->slo.part);
    put_time(text, m->slo.limit_ns);
    takt_text_add(text, "%s\n", m->peak.qps > 0 ? "" : " was kept at no rate tried");
}

static void say_slo(takt_text *text, const takt_bench_usage *m)
{
    takt_text_add(text, "  SLO: p%g is %s", 100 * m->slo.part, m->slo_sure ? "" : "at least ");
    put_time(text, m->slo_ns);
    takt_text_add(text, ", %s ", m->slo_met ? "within" : "NOT within");
    put_time(text, m->slo.limit_ns);
    takt_text_add(text, "%s\n", m->slo_sure ? "" : "; there are too few runs to be sure");
}

static void say_processes(takt_text *text, const takt_bench_usage *m)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < m->processes; i++) {
        low = fmin(low, m->process_medians[i]);
        high = fmax(high, m->process_medians[i]);
    }
    takt_text_add(text,
                  "  %zu processes: medians from %.4g to %.4g ms, mean within %.4g to %.4g ms "
                  "(95 %% interval)\n",
                  m->processes, low * 1e-6, high * 1e-6, m->process_ci.low * 1e-6,
                  m->process_ci.high * 1e-6);
}

/* Settings that are not the default. */
static void say_config(takt_text *text, const takt_run_config *c)
{
    if (c->backend == NULL || c->precision == NULL || c->numerics == NULL)
        return;
    if (strcmp(c->backend, "cpu") == 0 && strcmp(c->precision, "f32") == 0 &&
        strcmp(c->numerics, "exact") == 0)
        return;
    takt_text_add(text, "  backend %s, weights in %s, numerics %s\n", c->backend, c->precision,
                  c->numerics);
}

void takt_bench_usage_text(takt_text *text, const takt_bench *b, const takt_bench_row *r)
{
    const takt_bench_usage *m = &r->usage;
    say_config(text, &r->config);
    if (m->scenario != TAKT_SINGLE_STREAM)
        say_load(text, r);
    if (m->peak.try_count > 0)
        say_peak(text, m);
    else if (m->slo.limit_ns > 0)
        say_slo(text, m);
    if (m->processes > 1)
        say_processes(text, m);
    if (m->event != NULL)
        takt_text_add(text, "  %.0f %s a run (%s)\n", m->events, m->event, m->source);
    if (m->cache.source != NULL)
        takt_cache_text(text, "  ", &m->cache);
    if (b->energy && m->energy != NULL)
        takt_text_add(text, "  %.4g J a run (%s)\n", m->joules, m->energy);
    else if (b->energy)
        takt_text_add(text, "  energy: unavailable (no RAPL, hwmon or NVML counter here)\n");
    if (m->cpu_pct >= 0)
        takt_text_add(text, "  processors busy %.0f %% of the time\n", m->cpu_pct);
}
