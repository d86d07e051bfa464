/* bench_more_text.c - load, promise, utilisation, energy, events and processes for people. */
#include <math.h>

#include "measure/bench.h"
#include "measure/cache.h"

static void say_load(takt_text *text, const takt_bench_row *r)
{
    const takt_bench_more *m = &r->more;
    takt_text_add(text, "  %s, %zu stream%s:", takt_scenario_name(m->scenario), m->streams,
                  m->streams == 1 ? "" : "s");
    if (m->scenario == TAKT_SERVER)
        takt_text_add(text, " %.4g queries/s asked,", m->qps_asked);
    takt_text_add(text, " %.4g queries/s answered, %.4g samples/s", m->qps, takt_bench_rate(r));
    if (m->scenario == TAKT_SERVER)
        takt_text_add(text, "; half the queries wait %.3g us or less until somebody is free",
                      m->waiting.median * 1e-3);
    takt_text_add(text, "\n");
    if (m->unanswered > 0)
        takt_text_add(text,
                      "  it falls behind: %zu queries had no answer when time was up, so "
                      "percentiles are lower bounds\n",
                      m->unanswered);
}

static void say_peak(takt_text *text, const takt_bench_more *m)
{
    for (size_t i = 0; i < m->peak.try_count; i++)
        takt_text_add(text, "  tried %10.4g queries/s: p%g %.4g ms, %s\n", m->peak.tries[i].qps,
                      100 * m->slo.part, m->peak.tries[i].value_ns * 1e-6,
                      m->peak.tries[i].met ? "kept" : "not kept");
    if (m->peak.qps > 0)
        takt_text_add(text, "  peak: %.4g queries/s with p%g within %.4g ms\n", m->peak.qps,
                      100 * m->slo.part, m->slo.limit_ns * 1e-6);
    else
        takt_text_add(text, "  peak: none; p%g within %.4g ms was kept at no rate tried\n",
                      100 * m->slo.part, m->slo.limit_ns * 1e-6);
}

static void say_processes(takt_text *text, const takt_bench_more *m)
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

void takt_bench_more_text(takt_text *text, const takt_bench *b, const takt_bench_row *r)
{
    const takt_bench_more *m = &r->more;
    if (m->scenario != TAKT_SINGLE_STREAM)
        say_load(text, r);
    if (m->peak.try_count > 0)
        say_peak(text, m);
    else if (m->slo.limit_ns > 0)
        takt_text_add(text, "  promise: p%g is %s%.4g ms, %s %.4g ms%s\n", 100 * m->slo.part,
                      m->slo_sure ? "" : "at least ", m->slo_ns * 1e-6,
                      m->slo_met ? "within" : "NOT within", m->slo.limit_ns * 1e-6,
                      m->slo_sure ? "" : "; there are too few runs to be sure");
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
