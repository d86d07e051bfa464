/* bench_json.c - results as JSON: the keys of the guides' format, and all others. */
#include <math.h>
#include <stdio.h>
#include <takt/version.h>

#include "measure/bench.h"
#include "measure/stats_json.h"
#include "os/facts.h"

/* ---- results ---- */

static void latency(takt_json_writer *w, const takt_bench_row *r)
{
    const takt_timing *t = &r->timing;
    takt_json_put_open(w, "latency", '{');
    takt_json_put_string(w, "unit", "ms");
    takt_stats_write(w, &t->stats, 1e-6);
    takt_json_put_open(w, "phases_ms", '{');
    takt_json_put_number(w, "load", r->load_ns * 1e-6);
    takt_json_put_number(w, "plan", r->plan_ns * 1e-6);
    takt_json_put_number(w, "first", t->first_ns * 1e-6);
    takt_json_put_unsigned(w, "warmup_runs", t->warmup_runs);
    takt_json_put_number(w, "input_copy", t->copy_ns * 1e-6);
    takt_json_close(w, '}');
    takt_json_put_bool(w, "settled", t->is_settled);
    takt_json_put_open(w, "samples_ns", '[');
    for (size_t i = 0; i < t->count; i++)
        takt_json_number(w, t->samples[i]);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}

static void throughput(takt_json_writer *w, const takt_bench_row *r)
{
    takt_json_put_open(w, "throughput", '{');
    takt_json_put_string(w, "unit", "samples/s");
    takt_json_put_number(w, "mean", r->throughput.mean);
    takt_json_put_number(w, "std", r->throughput.std);
    takt_json_put_number(w, "min", r->throughput.min);
    takt_json_put_number(w, "max", r->throughput.max);
    takt_json_put_number(w, "median", r->throughput.median);
    takt_json_close(w, '}');
}

/* Bytes that the steps move, and the smallest cache that holds all of them: computed, not
 * counted. */
static void traffic(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r)
{
    double bytes = 0;
    for (size_t i = 0; i < r->op_count; i++)
        bytes += r->ops[i].bytes;
    if (bytes <= 0)
        return;
    takt_json_put_open(w, "bandwidth", '{');
    takt_json_put_number(w, "bytes_per_run", bytes);
    takt_json_put_number(w, "gbs", bytes / fmax(1, r->timing.stats.median));
    takt_json_put_string(w, "source", "modelled");
    takt_json_close(w, '}');
    if (!b->has_ceilings || b->is_loaded)
        return;
    takt_json_put_open(w, "cache", '{');
    takt_json_put_string(
        w, "fits_in", takt_level_names[takt_ceilings_level(&b->ceilings, (double)r->planned_peak)]);
    takt_json_put_string(w, "source", "modelled");
    takt_json_close(w, '}');
}

static void memory(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r)
{
    takt_json_put_open(w, "memory_usage", '{');
    takt_json_put_string(w, "unit", "bytes");
    takt_json_put_unsigned(w, "planned_peak", r->planned_peak);
    takt_json_put_unsigned(w, "measured_peak_rss_delta", r->rss_delta);
    takt_json_put_unsigned(w, "allocations_per_run", r->allocations);
    takt_json_put_unsigned(w, "peak", r->planned_peak);
    takt_json_put_number(w, "mean", r->live_mean);
    takt_json_put_number(w, "std", r->live_std);
    traffic(w, b, r);
    takt_json_close(w, '}');
}

static void operations(takt_json_writer *w, const takt_bench_row *r)
{
    takt_json_put_open(w, "per_op", '[');
    for (size_t i = 0; i < r->op_count; i++) {
        const takt_bench_op *op = &r->ops[i];
        takt_json_open(w, '{');
        takt_json_put_string(w, "name", op->name);
        takt_json_put_string(w, "type", op->type);
        takt_json_put_number(w, "time_us", op->time_us);
        takt_json_put_number(w, "share", op->share);
        takt_json_put_number(w, "flops", op->flops);
        takt_json_put_number(w, "bytes", op->bytes);
        if (op->bound != NULL) {
            takt_json_put_string(w, "bound", op->bound);
            takt_json_put_number(w, "pct_of_ceiling", op->percent);
        }
        takt_json_put_string(w, "device", "cpu");
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

static void results(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r)
{
    takt_json_put_open(w, "results", '{');
    if (b->latency)
        latency(w, r);
    if (b->throughput)
        throughput(w, r);
    if (b->memory_usage)
        memory(w, b, r);
    takt_bench_usage_json(w, b, r);
    operations(w, r);
    takt_json_put_bool(w, "incomplete", !r->timing.is_complete);
    takt_json_close(w, '}');
}

/* ---- where and how ---- */

static void engine(takt_json_writer *w, const takt_bench *b)
{
    char value[256];
    takt_json_put_open(w, "engine", '{');
    takt_json_put_string(w, "version", takt_version());
    takt_json_put_string(w, "commit",
                         b->is_loaded ? b->commit
                         : takt_fact_field(takt_build_info(), "commit", value, sizeof value) ? value
                                                                                             : "");
    takt_json_put_string(w, "compiler",
                         takt_fact_field(takt_build_info(), "compiler", value, sizeof value) ? value
                                                                                             : "");
    takt_isa_text(value, sizeof value);
    takt_json_put_string(w, "isa", value);
    takt_json_put_bool(w, "debug_build", b->is_debug);
    takt_json_close(w, '}');
}

static void system_info(takt_json_writer *w, const takt_bench *b)
{
    takt_cpu_facts facts;
    takt_json_put_open(w, "system_info", '{');
    if (b->is_loaded) {
        takt_json_put_string(w, "cpu", b->cpu);
        takt_json_put_string(w, "memory", b->memory);
        takt_json_put_string(w, "os", b->os);
        takt_json_put_string(w, "fingerprint", b->fingerprint);
        if (b->usable > 0)
            takt_json_put_unsigned(w, "cores_usable", (uint64_t)b->usable);
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
    takt_json_put_open(w, "config", '{');
    takt_json_put_integer(w, "batch_size", r->batch);
    takt_json_put_integer(w, "threads", r->threads);
    if (r->config.backend != NULL) {
        takt_json_put_string(w, "backend", r->config.backend);
        takt_json_put_string(w, "precision", r->config.precision);
        takt_json_put_string(w, "numerics", r->config.numerics);
    }
    takt_json_put_string(w, "scenario", takt_scenario_name(r->usage.scenario));
    takt_json_put_unsigned(w, "streams", r->usage.streams);
    if (r->usage.qps_asked > 0)
        takt_json_put_number(w, "qps", r->usage.qps_asked);
    takt_json_close(w, '}');
}

static void info(takt_json_writer *w, const takt_bench *b)
{
    takt_json_put_open(w, "benchmark_info", '{');
    takt_json_put_string(w, "model", b->model);
    takt_json_put_string(w, "model_sha256", b->model_sha256);
    takt_json_put_string(w, "type", b->type);
    takt_json_put_string(
        w, "scenario",
        takt_scenario_name(b->count > 0 ? b->rows[0].usage.scenario : TAKT_SINGLE_STREAM));
    takt_json_put_string(w, "timestamp", b->timestamp);
    takt_json_put_open(w, "command", '[');
    for (size_t i = 0; i < b->command_count; i++)
        takt_json_string(w, b->command[i]);
    takt_json_close(w, ']');
    takt_json_put_bool(w, "incomplete", takt_bench_is_incomplete(b));
    if (b->expected > 0) {
        takt_json_put_open(w, "cases", '{');
        takt_json_put_unsigned(w, "asked", b->expected);
        takt_json_put_unsigned(w, "measured", b->count);
        takt_json_close(w, '}');
    }
    if (b->count > 0)
        config(w, &b->rows[0]);
    engine(w, b);
    system_info(w, b);
    takt_json_put_open(w, "noise", '{');
    takt_json_key(w, "aa_floor_pct");
    if (takt_bench_has_noise(b))
        takt_json_number(w, takt_bench_noise_pct(b));
    else
        takt_json_null(w);
    takt_json_put_number(w, "steal_pct", b->others.steal_pct);
    takt_json_put_number(w, "others_processors", b->others.processors);
    takt_json_put_unsigned(w, "processors", (uint64_t)b->others.usable);
    takt_json_put_string(w, "grade", takt_bench_grade(b));
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

static void suggestion(takt_json_writer *w, const takt_bench *b)
{
    takt_batch_suggestion s;
    if (takt_suggest_batch(b, NULL, &s) != TAKT_OK)
        return;
    takt_json_put_open(w, "suggestion", '{');
    takt_json_put_integer(w, "batch_size", s.best);
    takt_json_put_integer(w, "threads", s.threads);
    takt_json_put_integer(w, "knee", s.knee);
    takt_json_put_integer(w, "formula", s.formula);
    takt_json_put_number(w, "samples_per_s", s.best_rate);
    takt_json_put_number(w, "bytes_per_sample", s.sample_bytes);
    takt_json_close(w, '}');
}

void takt_bench_json(takt_json_writer *w, const takt_bench *b)
{
    takt_json_open(w, '{');
    takt_json_put_string(w, "schema", "takt-bench/1");
    info(w, b);
    if (b->count > 0)
        results(w, b, &b->rows[0]);
    if (b->count > 1) {
        takt_json_put_open(w, "runs", '[');
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
