/* bench_usage.c - load, SLO, utilisation, energy, events and processes of a result, as JSON. */
#include <math.h>
#include <string.h>

#include "measure/bench.h"
#include "measure/cache.h"
#include "measure/stats_json.h"

static void string(takt_json_writer *w, const char *key, const char *value)
{
    takt_json_key(w, key);
    if (value != NULL)
        takt_json_string(w, value);
    else
        takt_json_null(w);
}

/* ---- writing ---- */

static void write_load(takt_json_writer *w, const takt_bench_usage *m)
{
    takt_json_put_open(w, "load", '{');
    string(w, "scenario", takt_scenario_name(m->scenario));
    takt_json_put_unsigned(w, "streams", m->streams);
    if (m->scenario == TAKT_SERVER)
        takt_json_put_number(w, "qps_asked", m->qps_asked);
    takt_json_put_number(w, "qps", m->qps);
    takt_json_put_unsigned(w, "unanswered", m->unanswered);
    takt_json_put_open(w, "waiting", '{');
    string(w, "unit", "ms");
    takt_stats_write(w, &m->waiting, 1e-6);
    takt_json_close(w, '}');
    if (m->peak.try_count > 0) {
        takt_json_put_open(w, "peak", '{');
        takt_json_put_number(w, "qps", m->peak.qps);
        takt_json_put_open(w, "tries", '[');
        for (size_t i = 0; i < m->peak.try_count; i++) {
            takt_json_open(w, '{');
            takt_json_put_number(w, "qps", m->peak.tries[i].qps);
            takt_json_put_number(w, "value_ms", m->peak.tries[i].value_ns * 1e-6);
            takt_json_put_bool(w, "met", m->peak.tries[i].met);
            takt_json_close(w, '}');
        }
        takt_json_close(w, ']');
        takt_json_close(w, '}');
    }
    takt_json_close(w, '}');
}

static void write_slo(takt_json_writer *w, const takt_bench_usage *m)
{
    takt_json_put_open(w, "slo", '{');
    takt_json_put_number(w, "percentile", 100 * m->slo.part);
    takt_json_put_number(w, "limit_ms", m->slo.limit_ns * 1e-6);
    takt_json_put_number(w, "value_ms", m->slo_ns * 1e-6);
    takt_json_put_bool(w, "met", m->slo_met);
    takt_json_put_bool(w, "resolved", m->slo_sure);
    takt_json_close(w, '}');
}

static void write_energy(takt_json_writer *w, const takt_bench_usage *m)
{
    takt_json_put_open(w, "energy", '{');
    string(w, "unit", "J/run");
    takt_json_key(w, "value");
    if (m->energy != NULL)
        takt_json_number(w, m->joules);
    else
        takt_json_null(w);
    string(w, "source", m->energy != NULL ? m->energy : "unavailable");
    takt_json_close(w, '}');
}

static void write_processes(takt_json_writer *w, const takt_bench_usage *m)
{
    takt_json_put_open(w, "processes", '{');
    takt_json_put_unsigned(w, "n", m->processes);
    takt_json_put_open(w, "medians_ms", '[');
    for (size_t i = 0; i < m->processes; i++)
        takt_json_number(w, m->process_medians[i] * 1e-6);
    takt_json_close(w, ']');
    takt_json_put_open(w, "ci95", '[');
    takt_json_number(w, m->process_ci.low * 1e-6);
    takt_json_number(w, m->process_ci.high * 1e-6);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}

void takt_bench_usage_json(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r)
{
    const takt_bench_usage *m = &r->usage;
    if (m->scenario != TAKT_SINGLE_STREAM)
        write_load(w, m);
    if (m->slo.limit_ns > 0)
        write_slo(w, m);
    takt_json_put_open(w, "utilisation", '{');
    takt_json_key(w, "cpu_pct");
    if (m->cpu_pct >= 0)
        takt_json_number(w, m->cpu_pct);
    else
        takt_json_null(w);
    takt_json_key(w, "gpu_pct"); /* nothing runs on one */
    takt_json_null(w);
    takt_json_close(w, '}');
    if (b->energy)
        write_energy(w, m);
    if (m->event != NULL) {
        takt_json_put_open(w, "counters", '{');
        takt_json_put_open(w, m->event, '{');
        takt_json_put_number(w, "per_run", m->events);
        string(w, "source", m->source);
        takt_json_close(w, '}');
        takt_json_close(w, '}');
    }
    if (m->cache.source != NULL)
        takt_cache_json(w, &m->cache);
    if (m->processes > 0)
        write_processes(w, m);
}

/* ---- reading ---- */

static const takt_json *member(const takt_json *object, const char *key)
{
    return object != NULL && object->kind == TAKT_JSON_OBJECT ? takt_json_get(object, key) : NULL;
}

static double value(const takt_json *object, const char *key)
{
    const takt_json *v = member(object, key);
    return v != NULL && v->kind == TAKT_JSON_NUMBER ? v->number : 0;
}

static bool is_true(const takt_json *object, const char *key)
{
    const takt_json *v = member(object, key);
    return v != NULL && v->kind == TAKT_JSON_BOOL && v->boolean;
}

static const char *text(takt_bench *b, const takt_json *object, const char *key)
{
    const takt_json *v = member(object, key);
    if (v == NULL || v->kind != TAKT_JSON_STRING)
        return NULL;
    return takt_arena_text(&b->arena, v->text, v->text_length);
}

static void read_load(takt_bench *b, const takt_json *load, takt_bench_usage *m)
{
    const char *name = text(b, load, "scenario");
    for (int i = 0; name != NULL && i <= TAKT_OFFLINE; i++)
        if (strcmp(name, takt_scenario_name((takt_scenario_kind)i)) == 0)
            m->scenario = (takt_scenario_kind)i;
    m->streams = (size_t)fmin(1e6, fmax(1, value(load, "streams")));
    m->qps_asked = value(load, "qps_asked");
    m->qps = value(load, "qps");
    m->unanswered = (size_t)fmin(1e9, fmax(0, value(load, "unanswered")));
    m->waiting.median = value(member(load, "waiting"), "median") * 1e6;
    m->waiting.mean = value(member(load, "waiting"), "mean") * 1e6;
    const takt_json *peak = member(load, "peak"), *tries = member(peak, "tries");
    m->peak.qps = value(peak, "qps");
    if (tries == NULL || tries->kind != TAKT_JSON_ARRAY)
        return;
    for (const takt_json *t = takt_json_first(tries);
         t != NULL && m->peak.try_count < TAKT_PEAK_TRIES; t = takt_json_next(t)) {
        const size_t i = m->peak.try_count++;
        m->peak.tries[i].qps = value(t, "qps");
        m->peak.tries[i].value_ns = value(t, "value_ms") * 1e6;
        m->peak.tries[i].met = is_true(t, "met");
    }
}

static void read_processes(takt_bench *b, const takt_json *o, takt_bench_usage *m)
{
    const takt_json *list = member(o, "medians_ms"), *ci = member(o, "ci95");
    if (list == NULL || list->kind != TAKT_JSON_ARRAY || list->count == 0)
        return;
    m->process_medians = takt_arena_array(&b->arena, list->count, sizeof *m->process_medians);
    if (m->process_medians == NULL)
        return;
    for (const takt_json *v = takt_json_first(list); v != NULL; v = takt_json_next(v))
        m->process_medians[m->processes++] = v->kind == TAKT_JSON_NUMBER ? v->number * 1e6 : 0;
    if (ci != NULL && ci->kind == TAKT_JSON_ARRAY && ci->count == 2)
        m->process_ci = (takt_interval){takt_json_first(ci)->number * 1e6,
                                        takt_json_next(takt_json_first(ci))->number * 1e6};
}

/* Figures that cannot be are left out. */
static void read_cache(takt_bench *b, const takt_json *o, takt_bench_usage *m)
{
    const takt_json *ll = member(o, "ll_misses");
    const takt_cache_use use = {.source = text(b, o, "source"),
                                .accesses = value(o, "per_run"),
                                .l1_misses = value(o, "l1_misses"),
                                .ll_misses = ll != NULL ? ll->number : -1,
                                .l1_bytes = (uint64_t)fmin(1e15, fmax(0, value(o, "l1_bytes"))),
                                .ll_bytes = (uint64_t)fmin(1e15, fmax(0, value(o, "ll_bytes")))};
    if (takt_cache_check(b->ctx, &use, &m->cache) != TAKT_OK)
        m->cache = (takt_cache_use){0};
    else
        m->cache.note = text(b, o, "note");
}

void takt_bench_usage_read(takt_bench *b, const takt_json *results, takt_bench_row *r)
{
    takt_bench_usage *m = &r->usage;
    const takt_json *slo = member(results, "slo"), *energy = member(results, "energy");
    const takt_json *cpu = member(member(results, "utilisation"), "cpu_pct");
    const takt_json *counters = member(results, "counters");
    if (member(results, "cache") != NULL)
        read_cache(b, member(results, "cache"), m);
    if (member(results, "load") != NULL)
        read_load(b, member(results, "load"), m);
    m->slo = (takt_slo){value(slo, "percentile") / 100, value(slo, "limit_ms") * 1e6};
    m->slo_ns = value(slo, "value_ms") * 1e6;
    m->slo_met = is_true(slo, "met");
    m->slo_sure = is_true(slo, "resolved");
    m->cpu_pct = cpu != NULL && cpu->kind == TAKT_JSON_NUMBER ? cpu->number : -1;
    const takt_json *joules = member(energy, "value");
    if (joules != NULL && joules->kind == TAKT_JSON_NUMBER) {
        m->joules = joules->number;
        m->energy = text(b, energy, "source");
    }
    const takt_json *event =
        counters != NULL && counters->kind == TAKT_JSON_OBJECT ? takt_json_first(counters) : NULL;
    if (event != NULL && event->key != NULL) {
        m->event = takt_arena_text(&b->arena, event->key, strlen(event->key));
        m->events = value(event, "per_run");
        m->source = text(b, event, "source");
    }
    read_processes(b, member(results, "processes"), m);
}
