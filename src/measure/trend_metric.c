/* trend_metric.c - the figures of a result that a trend can be drawn of. */
#include <math.h>
#include <string.h>

#include "measure/trend.h"

static bool of_stats(const takt_stats *from, double scale, takt_trend_sample *s)
{
    *s = (takt_trend_sample){from->median * scale, from->median_ci.low * scale,
                             from->median_ci.high * scale};
    return from->count > 0;
}

static bool plain(double value, double scale, takt_trend_sample *s)
{
    *s = (takt_trend_sample){value * scale, value * scale, value * scale};
    return value > 0 && isfinite(value);
}

static bool percentile(const takt_bench_row *r, int index, takt_trend_sample *s)
{
    const takt_percentile *p = &r->timing.stats.percentiles[index];
    *s = (takt_trend_sample){p->value * 1e-6, p->ci.low * 1e-6, p->ci.high * 1e-6};
    return r->timing.stats.count > 0;
}

static bool latency(const takt_bench_row *r, takt_trend_sample *s)
{
    return of_stats(&r->timing.stats, 1e-6, s);
}

static bool mean(const takt_bench_row *r, takt_trend_sample *s)
{
    const takt_stats *t = &r->timing.stats;
    *s = (takt_trend_sample){t->mean * 1e-6, t->mean_ci.low * 1e-6, t->mean_ci.high * 1e-6};
    return t->count > 0;
}

static bool p90(const takt_bench_row *r, takt_trend_sample *s)
{
    return percentile(r, 1, s);
}

static bool p95(const takt_bench_row *r, takt_trend_sample *s)
{
    return percentile(r, 2, s);
}

static bool p99(const takt_bench_row *r, takt_trend_sample *s)
{
    return percentile(r, 3, s);
}

static bool throughput(const takt_bench_row *r, takt_trend_sample *s)
{
    return of_stats(&r->throughput, 1, s) || plain(takt_bench_rate(r), 1, s);
}

static bool memory(const takt_bench_row *r, takt_trend_sample *s)
{
    return plain((double)r->planned_peak, 1e-6, s);
}

static bool load(const takt_bench_row *r, takt_trend_sample *s)
{
    return plain(r->load_ns, 1e-6, s);
}

static bool plan(const takt_bench_row *r, takt_trend_sample *s)
{
    return plain(r->plan_ns, 1e-6, s);
}

static bool first(const takt_bench_row *r, takt_trend_sample *s)
{
    return plain(r->timing.first_ns, 1e-6, s);
}

static bool cpu(const takt_bench_row *r, takt_trend_sample *s)
{
    return plain(r->usage.cpu_pct, 1, s);
}

static bool energy(const takt_bench_row *r, takt_trend_sample *s)
{
    return plain(r->usage.joules, 1, s);
}

static bool instructions(const takt_bench_row *r, takt_trend_sample *s)
{
    return plain(r->usage.events, 1, s);
}

static const takt_trend_metric metrics[] = {
    {"latency", "Latency", "ms", latency, false},
    {"mean", "Mean latency", "ms", mean, false},
    {"p90", "p90", "ms", p90, false},
    {"p95", "p95", "ms", p95, false},
    {"p99", "p99", "ms", p99, false},
    {"throughput", "Throughput", "samples/s", throughput, true},
    {"memory", "Peak memory", "MB", memory, false},
    {"memory_usage", "Peak memory", "MB", memory, false},
    {"load", "Loading the model", "ms", load, false},
    {"plan", "Making the plan", "ms", plan, false},
    {"first", "First run", "ms", first, false},
    {"cpu", "Processors in use", "%", cpu, false},
    {"energy", "Energy", "J a run", energy, false},
    {"instructions", "Instructions", "a run", instructions, false},
};

takt_status takt_trend_metric_find(takt_ctx *ctx, const char *name, const takt_trend_metric **found)
{
    *found = &metrics[0];
    for (size_t i = 0; name != NULL && i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i].name, name) == 0) {
            *found = &metrics[i];
            return TAKT_OK;
        }
    if (name == NULL)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "there is no metric %s", name);
    return takt_fail_hint(ctx, "there are latency, mean, p90, p95, p99, throughput, memory, load, "
                               "plan, first, cpu, energy and instructions");
}
