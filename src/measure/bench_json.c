/* bench_json.c - results as JSON: the keys that the seeds have, and everything else beside them. */
#include <math.h>
#include <stdio.h>
#include <takt/version.h>

#include "measure/bench.h"
#include "measure/stats_json.h"
#include "os/facts.h"

static void string(takt_json_writer *w, const char *key, const char *value)
{
    takt_json_key(w, key);
    takt_json_string(w, value != NULL ? value : "");
}

static void number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_number(w, value);
}

static void count(takt_json_writer *w, const char *key, uint64_t value)
{
    takt_json_key(w, key);
    takt_json_unsigned(w, value);
}

static void open_object(takt_json_writer *w, const char *key)
{
    takt_json_key(w, key);
    takt_json_open(w, '{');
}

/* ---- results ---- */

static void latency(takt_json_writer *w, const takt_bench_row *r)
{
    const takt_timing *t = &r->timing;
    open_object(w, "latency");
    string(w, "unit", "ms");
    takt_stats_write(w, &t->stats, 1e-6);
    open_object(w, "phases_ms");
    number(w, "load", r->load_ns * 1e-6);
    number(w, "plan", r->plan_ns * 1e-6);
    number(w, "first", t->first_ns * 1e-6);
    count(w, "warmup_runs", t->warmup_runs);
    number(w, "input_copy", t->copy_ns * 1e-6);
    takt_json_close(w, '}');
    takt_json_key(w, "settled");
    takt_json_bool(w, t->is_settled);
    takt_json_key(w, "samples_ns");
    takt_json_open(w, '[');
    for (size_t i = 0; i < t->count; i++)
        takt_json_number(w, t->samples[i]);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}

static void throughput(takt_json_writer *w, const takt_bench_row *r)
{
    open_object(w, "throughput");
    string(w, "unit", "samples/s");
    number(w, "mean", r->throughput.mean);
    number(w, "std", r->throughput.std);
    number(w, "min", r->throughput.min);
    number(w, "max", r->throughput.max);
    number(w, "median", r->throughput.median);
    takt_json_close(w, '}');
}

/* What the steps move, and the smallest cache that holds all of it: computed, not counted. */
static void traffic(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r)
{
    double bytes = 0;
    for (size_t i = 0; i < r->op_count; i++)
        bytes += r->ops[i].bytes;
    if (bytes <= 0)
        return;
    open_object(w, "bandwidth");
    number(w, "bytes_per_run", bytes);
    number(w, "gbs", bytes / fmax(1, r->timing.stats.median));
    string(w, "source", "modelled");
    takt_json_close(w, '}');
    if (!b->has_ceilings || b->is_loaded)
        return;
    open_object(w, "cache");
    string(w, "fits_in",
           takt_level_names[takt_ceilings_level(&b->ceilings, (double)r->planned_peak)]);
    string(w, "source", "modelled");
    takt_json_close(w, '}');
}

static void memory(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r)
{
    open_object(w, "memory_usage");
    string(w, "unit", "bytes");
    count(w, "planned_peak", r->planned_peak);
    count(w, "measured_peak_rss_delta", r->rss_delta);
    count(w, "allocations_per_run", r->allocations);
    count(w, "peak", r->planned_peak);
    number(w, "mean", r->live_mean);
    number(w, "std", r->live_std);
    traffic(w, b, r);
    takt_json_close(w, '}');
}

static void operations(takt_json_writer *w, const takt_bench_row *r)
{
    takt_json_key(w, "per_op");
    takt_json_open(w, '[');
    for (size_t i = 0; i < r->op_count; i++) {
        const takt_bench_op *op = &r->ops[i];
        takt_json_open(w, '{');
        string(w, "name", op->name);
        string(w, "type", op->type);
        number(w, "time_us", op->time_us);
        number(w, "share", op->share);
        number(w, "flops", op->flops);
        number(w, "bytes", op->bytes);
        if (op->bound != NULL) {
            string(w, "bound", op->bound);
            number(w, "pct_of_ceiling", op->percent);
        }
        string(w, "device", "cpu");
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

static void results(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r)
{
    open_object(w, "results");
    if (b->latency)
        latency(w, r);
    if (b->throughput)
        throughput(w, r);
    if (b->memory_usage)
        memory(w, b, r);
    takt_bench_more_json(w, b, r);
    operations(w, r);
    takt_json_key(w, "incomplete");
    takt_json_bool(w, !r->timing.is_complete);
    takt_json_close(w, '}');
}

/* ---- where and how ---- */

static void engine(takt_json_writer *w, const takt_bench *b)
{
    char value[256];
    open_object(w, "engine");
    string(w, "version", takt_version());
    string(w, "commit",
           b->is_loaded                                                        ? b->commit
           : takt_fact_field(takt_build_info(), "commit", value, sizeof value) ? value
                                                                               : "");
    string(w, "compiler",
           takt_fact_field(takt_build_info(), "compiler", value, sizeof value) ? value : "");
    takt_isa_text(value, sizeof value);
    string(w, "isa", value);
    takt_json_key(w, "debug_build");
    takt_json_bool(w, b->is_debug);
    takt_json_close(w, '}');
}

static void system_info(takt_json_writer *w, const takt_bench *b)
{
    takt_cpu_facts facts;
    open_object(w, "system_info");
    if (b->is_loaded) {
        string(w, "cpu", b->cpu);
        string(w, "memory", b->memory);
        string(w, "os", b->os);
        string(w, "fingerprint", b->fingerprint);
        if (b->usable > 0)
            count(w, "cores_usable", (uint64_t)b->usable);
        if (b->has_ceilings)
            takt_ceilings_info_write(w, &b->ceilings);
    } else {
        takt_cpu_read(&facts);
        takt_machine_json(w, &facts, b->has_ceilings ? &b->ceilings : NULL);
    }
    takt_json_close(w, '}');
}

static void config(takt_json_writer *w, const takt_bench_row *r)
{
    open_object(w, "config");
    takt_json_key(w, "batch_size");
    takt_json_integer(w, r->batch);
    takt_json_key(w, "threads");
    takt_json_integer(w, r->threads);
    if (r->config.backend != NULL) {
        string(w, "backend", r->config.backend);
        string(w, "precision", r->config.precision);
        string(w, "numerics", r->config.numerics);
    }
    string(w, "scenario", takt_scenario_name(r->more.scenario));
    count(w, "streams", r->more.streams);
    if (r->more.qps_asked > 0)
        number(w, "qps", r->more.qps_asked);
    takt_json_close(w, '}');
}

static void info(takt_json_writer *w, const takt_bench *b)
{
    open_object(w, "benchmark_info");
    string(w, "model", b->model);
    string(w, "model_sha256", b->model_sha256);
    string(w, "type", b->type);
    string(w, "scenario",
           takt_scenario_name(b->count > 0 ? b->rows[0].more.scenario : TAKT_SINGLE_STREAM));
    string(w, "timestamp", b->timestamp);
    takt_json_key(w, "command");
    takt_json_open(w, '[');
    for (size_t i = 0; i < b->command_count; i++)
        takt_json_string(w, b->command[i]);
    takt_json_close(w, ']');
    takt_json_key(w, "incomplete");
    takt_json_bool(w, takt_bench_is_incomplete(b));
    if (b->expected > 0) {
        open_object(w, "cases");
        count(w, "asked", b->expected);
        count(w, "measured", b->count);
        takt_json_close(w, '}');
    }
    if (b->count > 0)
        config(w, &b->rows[0]);
    engine(w, b);
    system_info(w, b);
    open_object(w, "noise");
    takt_json_key(w, "aa_floor_pct");
    if (takt_bench_has_noise(b))
        takt_json_number(w, takt_bench_noise_pct(b));
    else
        takt_json_null(w);
    number(w, "steal_pct", b->others.steal_pct);
    number(w, "others_processors", b->others.processors);
    count(w, "processors", (uint64_t)b->others.usable);
    string(w, "grade", takt_bench_grade(b));
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

static void suggestion(takt_json_writer *w, const takt_bench *b)
{
    takt_batch_suggestion s;
    if (takt_suggest_batch(b, NULL, &s) != TAKT_OK)
        return;
    open_object(w, "suggestion");
    takt_json_key(w, "batch_size");
    takt_json_integer(w, s.best);
    takt_json_key(w, "threads");
    takt_json_integer(w, s.threads);
    takt_json_key(w, "knee");
    takt_json_integer(w, s.knee);
    takt_json_key(w, "formula");
    takt_json_integer(w, s.formula);
    number(w, "samples_per_s", s.best_rate);
    number(w, "bytes_per_sample", s.sample_bytes);
    takt_json_close(w, '}');
}

void takt_bench_json(takt_json_writer *w, const takt_bench *b)
{
    takt_json_open(w, '{');
    string(w, "schema", "takt-bench/1");
    info(w, b);
    if (b->count > 0)
        results(w, b, &b->rows[0]);
    if (b->count > 1) {
        takt_json_key(w, "runs");
        takt_json_open(w, '[');
        for (size_t i = 0; i < b->count; i++) {
            takt_json_open(w, '{');
            config(w, &b->rows[i]);
            results(w, b, &b->rows[i]);
            takt_json_close(w, '}');
        }
        takt_json_close(w, ']');
        suggestion(w, b);
    }
    takt_json_close(w, '}');
}
