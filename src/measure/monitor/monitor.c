/* monitor.c - runs of sessions counted as they end, and a sample of the process per interval. */
#include "measure/monitor/monitor.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/session/session.h"
#include "api/usage.h"
#include "base/mem.h"
#include "base/options.h"
#include "os/counter.h"
#include "os/os.h"

static void lock(const takt_monitor *m)
{
    takt_lock_take(&((takt_monitor *)m)->lock);
}

static void unlock(const takt_monitor *m)
{
    takt_lock_give(&((takt_monitor *)m)->lock);
}

static void mark(const takt_monitor *m, takt_monitor_mark *at)
{
    *at = (takt_monitor_mark){.wall_ns = m->ctx->now_ns(m->ctx->clock_user),
                              .cpu_ns = takt_os_cpu_ns()};
    if (m->reads >= 0) {
        (void)takt_counter_look(m->reads, &at->reads);
        (void)takt_counter_look(m->misses, &at->misses);
    }
}

/* ---- making one ---- */

/* The two counters; without both there is no rate. */
static void open_counters(takt_monitor *m)
{
    m->reads = takt_counter_open(TAKT_EVENT_CACHE_READS);
    m->misses = m->reads >= 0 ? takt_counter_open(TAKT_EVENT_CACHE_MISSES) : -1;
    if (m->reads >= 0 && m->misses >= 0) {
        takt_counter_begin(m->reads);
        takt_counter_begin(m->misses);
        return;
    }
    char reason[80];
    takt_os_reason(m->reads < 0 ? -m->reads : -m->misses, reason, sizeof reason);
    (void)snprintf(m->cache_reason, sizeof m->cache_reason, "the kernel does not count here (%s)",
                   reason);
    if (m->reads >= 0)
        takt_counter_close(m->reads);
    m->reads = m->misses = -1;
}

takt_status takt_monitor_create(takt_ctx *ctx, const takt_monitor_options *options,
                                takt_monitor **monitor)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, monitor);
    takt_monitor_options o;
    takt_usage usage;
    void *block;
    *monitor = NULL;
    TAKT_TRY(takt_options_read(ctx, "takt_monitor_options", options, &o, sizeof o));
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_monitor), "monitor", &block));
    takt_monitor *m = block;
    m->ctx = ctx;
    m->options = o;
    m->reads = m->misses = -1;
    takt_resource_usage(NULL, &usage);
    m->processors = usage.processors;
    if (o.track_cache)
        open_counters(m);
    mark(m, &m->first);
    m->last = m->first;
    *monitor = m;
    return TAKT_OK;
}

void takt_monitor_destroy(takt_monitor *m)
{
    if (m == NULL)
        return;
    if (m->reads >= 0) {
        takt_counter_close(m->reads);
        takt_counter_close(m->misses);
    }
    takt_mem_put(m->ctx, m, sizeof *m);
}

/* ---- measuring ---- */

/* Summarises the runs between two marks by their times. */
static void measure(const takt_monitor *m, const takt_monitor_mark *from,
                    const takt_monitor_mark *to, const takt_run_times *t, takt_metrics *x)
{
    const double wall = (double)(to->wall_ns - from->wall_ns);
    const uint64_t reads = to->reads - from->reads, misses = to->misses - from->misses;
    *x = (takt_metrics){.from_s = (double)(from->wall_ns - m->first.wall_ns) * 1e-9,
                        .to_s = (double)(to->wall_ns - m->first.wall_ns) * 1e-9,
                        .runs = t->runs,
                        .failures = t->failures,
                        .min_ns = t->min_ns,
                        .max_ns = t->max_ns};
    if (wall > 0) {
        x->throughput = (double)t->runs / wall * 1e9;
        x->cpu_pct = 100 * (double)(to->cpu_ns - from->cpu_ns) / wall / m->processors;
    }
    if (t->runs > 0) {
        x->mean_ns = t->sum_ns / (double)t->runs;
        x->p50_ns = takt_run_times_quantile(t, 0.5);
        x->p95_ns = takt_run_times_quantile(t, 0.95);
        x->p99_ns = takt_run_times_quantile(t, 0.99);
    }
    x->has_cache = reads > 0;
    if (x->has_cache)
        x->cache_hit_pct = 100 * (1 - fmin(1, (double)misses / (double)reads));
}

static void add_memory(const takt_monitor *m, takt_metrics *x)
{
    x->memory_bytes = atomic_load(&m->ctx->live_bytes);
    x->peak_bytes = atomic_load(&m->ctx->peak_bytes);
    x->resident_bytes = takt_resident_bytes();
}

/* Two neighbours become one: sums and means by their runs, percentiles by the worse. */
static void merge(takt_metrics *a, const takt_metrics *b)
{
    const double n = (double)a->runs, k = (double)b->runs, runs = fmax(n + k, 1);
    const double first = a->to_s - a->from_s, second = b->to_s - b->from_s;
    const double both = fmax(first + second, 1e-9);
    a->mean_ns = (n * a->mean_ns + k * b->mean_ns) / runs;
    a->min_ns = n == 0 ? b->min_ns : k == 0 ? a->min_ns : fmin(a->min_ns, b->min_ns);
    a->max_ns = fmax(a->max_ns, b->max_ns);
    a->p50_ns = fmax(a->p50_ns, b->p50_ns);
    a->p95_ns = fmax(a->p95_ns, b->p95_ns);
    a->p99_ns = fmax(a->p99_ns, b->p99_ns);
    a->cpu_pct = (first * a->cpu_pct + second * b->cpu_pct) / both;
    a->throughput = (n + k) / both;
    a->runs += b->runs;
    a->failures += b->failures;
    a->to_s = b->to_s;
    a->memory_bytes = b->memory_bytes;
    a->peak_bytes = b->peak_bytes;
    a->resident_bytes = b->resident_bytes;
    a->has_cache = a->has_cache && b->has_cache;
    a->cache_hit_pct = (first * a->cache_hit_pct + second * b->cache_hit_pct) / both;
}

static void halve(takt_monitor *m)
{
    for (size_t i = 0; i < TAKT_SAMPLES / 2; i++) {
        m->samples[i] = m->samples[2 * i];
        merge(&m->samples[i], &m->samples[2 * i + 1]);
    }
    m->count = TAKT_SAMPLES / 2;
}

/* The lock is held. */
static void sample(takt_monitor *m, takt_metrics *x)
{
    takt_monitor_mark now;
    mark(m, &now);
    measure(m, &m->last, &now, &m->part, x);
    add_memory(m, x);
    if (m->count == TAKT_SAMPLES)
        halve(m);
    m->samples[m->count++] = *x;
    m->last = now;
    memset(&m->part, 0, sizeof m->part);
}

static void note(void *user, takt_session *s, uint64_t start, takt_status status)
{
    takt_monitor *m = user;
    (void)s;
    const uint64_t now = m->ctx->now_ns(m->ctx->clock_user);
    takt_metrics x;
    lock(m);
    if (status != TAKT_OK) {
        m->all.failures++;
        m->part.failures++;
    } else if (m->options.track_time) {
        takt_run_times_add(&m->all, (double)(now - start));
        takt_run_times_add(&m->part, (double)(now - start));
    }
    const uint64_t interval = (uint64_t)m->options.interval_ms * 1000000;
    if (interval > 0 && now - m->last.wall_ns >= interval)
        sample(m, &x);
    unlock(m);
}

void takt_monitor_attach(takt_monitor *m, takt_session *s)
{
    s->reader = (takt_watch){.user = m, .end = m != NULL ? note : NULL};
}

takt_status takt_monitor_sample(takt_monitor *m, takt_metrics *to)
{
    TAKT_NEED(NULL, m);
    takt_metrics x;
    lock(m);
    sample(m, &x);
    unlock(m);
    if (to != NULL)
        *to = x;
    return TAKT_OK;
}

void takt_monitor_metrics(const takt_monitor *m, takt_metrics *metrics)
{
    if (m == NULL)
        return;
    takt_monitor_mark now;
    lock(m);
    mark(m, &now);
    measure(m, &m->first, &now, &m->all, metrics);
    add_memory(m, metrics);
    unlock(m);
}

size_t takt_monitor_count(const takt_monitor *m)
{
    if (m == NULL)
        return 0;
    lock(m);
    const size_t count = m->count;
    unlock(m);
    return count;
}

bool takt_monitor_get(const takt_monitor *m, size_t index, takt_metrics *to)
{
    if (m == NULL)
        return false;
    lock(m);
    const bool is_there = index < m->count;
    if (is_there)
        *to = m->samples[index];
    unlock(m);
    return is_there;
}

const char *takt_monitor_cache_reason(const takt_monitor *m)
{
    return m->cache_reason;
}
