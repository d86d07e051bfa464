/* bench_load.c - reads a result again: our JSON, our HTML, or JSON with the seeds' keys alone. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "io/read.h"
#include "measure/bench.h"
#include "measure/roofline.h"
#include "stats/compare.h"

static const takt_json *member(const takt_json *object, const char *key)
{
    return object != NULL && object->kind == TAKT_JSON_OBJECT ? takt_json_get(object, key) : NULL;
}

static double number(const takt_json *object, const char *key)
{
    const takt_json *v = member(object, key);
    return v != NULL && v->kind == TAKT_JSON_NUMBER ? v->number : 0;
}

static const char *string(takt_bench *b, const takt_json *object, const char *key)
{
    const takt_json *v = member(object, key);
    const char *text = v != NULL && v->kind == TAKT_JSON_STRING ? v->text : "";
    return takt_arena_text(&b->arena, text, strlen(text));
}

static takt_status refuse(takt_ctx *ctx, const char *path, const char *why)
{
    takt_fail(ctx, TAKT_E_RESULT_FILE, "%s is not a benchmark result: %s", path,
              why != NULL ? why : "it is not JSON");
    return takt_fail_hint(ctx, "write one with `takt benchmark run MODEL -o result.json`");
}

/* The JSON inside our HTML; other bytes are unchanged. */
static void find_json(const char **bytes, size_t *length)
{
    static const char mark[] = "id=\"takt-result\">";
    const size_t size = sizeof mark - 1;
    if (*length == 0 || (*bytes)[0] != '<')
        return;
    for (size_t i = 0; i + size <= *length; i++) {
        if (memcmp(*bytes + i, mark, size) != 0)
            continue;
        const char *from = *bytes + i + size, *end = memchr(from, '<', *length - i - size);
        *length = end != NULL ? (size_t)(end - from) : *length - i - size;
        *bytes = from;
        return;
    }
}

/* ---- one row ---- */

static takt_status read_samples(takt_bench *b, const takt_json *list, takt_timing *t)
{
    void *samples;
    if (list == NULL || list->kind != TAKT_JSON_ARRAY || list->count == 0)
        return TAKT_OK;
    TAKT_TRY(takt_mem_zero(b->ctx, list->count, sizeof(double), "samples", &samples));
    t->samples = samples;
    t->capacity = list->count;
    for (const takt_json *v = takt_json_first(list); v != NULL; v = takt_json_next(v)) {
        if (v->kind == TAKT_JSON_NUMBER && v->number > 1e18) /* 30 years */
            return takt_fail(b->ctx, TAKT_E_RESULT_FILE, "a sample of %g ns is not a time",
                             v->number);
        if (v->kind == TAKT_JSON_NUMBER && v->number > 0)
            t->samples[t->count++] = v->number;
    }
    return TAKT_OK;
}

/* A file without samples still has its statistics. */
static void stats_as_stored(const takt_json *o, takt_stats *s, double scale)
{
    static const char *const names[TAKT_PERCENTILES] = {"50", "90", "95", "99"};
    const takt_json *p = member(o, "percentiles");
    s->count = (size_t)fmax(0, number(o, "n"));
    s->mean = number(o, "mean") * scale;
    s->std = number(o, "std") * scale;
    s->min = number(o, "min") * scale;
    s->max = number(o, "max") * scale;
    for (int i = 0; i < TAKT_PERCENTILES; i++) {
        const double value = number(p, names[i]) * scale;
        s->percentiles[i] = (takt_percentile){value, {value, value}, false};
    }
    s->median = member(o, "median") != NULL ? number(o, "median") * scale : s->percentiles[0].value;
    s->median = s->median > 0 ? s->median : s->mean;
    s->median_ci = s->mean_ci = (takt_interval){s->median, s->median};
}

static void read_operations(takt_bench *b, const takt_json *list, takt_bench_row *r)
{
    if (list == NULL || list->kind != TAKT_JSON_ARRAY)
        return;
    r->ops = takt_arena_array(&b->arena, list->count, sizeof *r->ops);
    for (const takt_json *o = takt_json_first(list); r->ops != NULL && o != NULL;
         o = takt_json_next(o))
        r->ops[r->op_count++] = (takt_bench_op){
            .name = string(b, o, "name"),
            .type = string(b, o, "type"),
            .bound = member(o, "bound") != NULL ? string(b, o, "bound") : NULL,
            .limit = takt_bound_read(member(o, "bound") != NULL ? string(b, o, "bound") : NULL),
            .time_us = number(o, "time_us"),
            .share = number(o, "share"),
            .flops = number(o, "flops"),
            .bytes = number(o, "bytes"),
            .percent = number(o, "pct_of_ceiling")};
}

static takt_status read_row(takt_bench *b, const takt_json *config, const takt_json *results)
{
    takt_bench_row *r;
    const takt_json *latency = member(results, "latency");
    const takt_json *rate = member(results, "throughput"),
                    *memory = member(results, "memory_usage");
    const takt_json *phases = member(latency, "phases_ms");
    TAKT_TRY(takt_bench_push(b, &r));
    r->batch = (int64_t)fmax(1, fmin(number(config, "batch_size"), 1e9));
    r->threads = (int)fmax(1, fmin(number(config, "threads"), 1e6));
    if (member(config, "numerics") != NULL)
        r->config = (takt_run_config){.backend = string(b, config, "backend"),
                                      .precision = string(b, config, "precision"),
                                      .numerics = string(b, config, "numerics")};
    const takt_json *incomplete = member(results, "incomplete");
    r->timing.is_complete = incomplete == NULL || !incomplete->boolean;
    TAKT_TRY(read_samples(b, member(latency, "samples_ns"), &r->timing));
    if (r->timing.count > 0)
        TAKT_TRY(takt_stats_compute(b->ctx, r->timing.samples, r->timing.count, &r->timing.stats));
    else
        stats_as_stored(latency, &r->timing.stats, 1e6);
    r->timing.first_ns = number(phases, "first") * 1e6;
    r->timing.warmup_runs = (size_t)fmax(0, number(phases, "warmup_runs"));
    r->timing.copy_ns = number(phases, "input_copy") * 1e6;
    r->load_ns = number(phases, "load") * 1e6;
    r->plan_ns = number(phases, "plan") * 1e6;
    stats_as_stored(rate, &r->throughput, 1);
    r->planned_peak = (uint64_t)fmax(0, fmin(number(memory, "peak"), 1e18));
    r->rss_delta = (uint64_t)fmax(0, fmin(number(memory, "measured_peak_rss_delta"), 1e18));
    r->allocations = (uint64_t)fmax(0, fmin(number(memory, "allocations_per_run"), 1e18));
    r->live_mean = number(memory, "mean");
    r->live_std = number(memory, "std");
    read_operations(b, member(results, "per_op"), r);
    takt_bench_usage_read(b, results, r);
    return takt_noise_floor(b->ctx, r->timing.samples, r->timing.count, &r->noise);
}

/* ---- the file ---- */

static void read_info(takt_bench *b, const takt_json *info)
{
    const takt_json *system = member(info, "system_info"), *noise = member(info, "noise");
    b->is_loaded = true;
    b->model = string(b, info, "model");
    b->model_sha256 = string(b, info, "model_sha256");
    b->type = string(b, info, "type");
    b->timestamp = string(b, info, "timestamp");
    b->cpu = string(b, system, "cpu");
    b->memory = string(b, system, "memory");
    b->os = string(b, system, "os");
    b->fingerprint = string(b, system, "fingerprint");
    b->others.steal_pct = number(noise, "steal_pct");
    b->others.processors = number(noise, "others_processors");
    b->others.usable = (int)fmin(1e6, fmax(0, number(noise, "processors")));
    b->usable = (int)fmax(0, fmin(number(system, "cores_usable"), 1e6));
    b->has_ceilings = takt_ceilings_info_read(member(system, "ceilings"), &b->ceilings);
    b->commit = string(b, member(info, "engine"), "commit");
    b->expected = (size_t)fmax(0, fmin(number(member(info, "cases"), "asked"), 1e9));
    const takt_json *cut = member(info, "incomplete");
    b->is_cut = cut != NULL && cut->boolean;
    const takt_json *debug = member(member(info, "engine"), "debug_build");
    b->is_debug = debug != NULL && debug->boolean;
}

static takt_status read_all(takt_bench *b, const char *path, const takt_json *root)
{
    const takt_json *info = member(root, "benchmark_info"), *results = member(root, "results");
    const takt_json *runs = member(root, "runs");
    if (info == NULL || info->kind != TAKT_JSON_OBJECT)
        return refuse(b->ctx, path, "it has no \"benchmark_info\"");
    if (results == NULL || results->kind != TAKT_JSON_OBJECT)
        return refuse(b->ctx, path, "it has no \"results\"");
    read_info(b, info);
    b->latency = member(results, "latency") != NULL;
    b->throughput = member(results, "throughput") != NULL;
    b->memory_usage = member(results, "memory_usage") != NULL;
    b->energy = member(results, "energy") != NULL;
    if (runs == NULL || runs->kind != TAKT_JSON_ARRAY)
        return read_row(b, member(info, "config"), results);
    for (const takt_json *run = takt_json_first(runs); run != NULL; run = takt_json_next(run))
        TAKT_TRY(read_row(b, member(run, "config"), member(run, "results")));
    return TAKT_OK;
}

static takt_status parse(takt_bench *b, const char *path, const char *bytes, size_t length)
{
    takt_arena arena;
    const takt_json *root;
    takt_arena_init(&arena, b->ctx);
    find_json(&bytes, &length);
    takt_status status = takt_json_parse(b->ctx, &arena, bytes, length, &root);
    if (status == TAKT_OK)
        status = read_all(b, path, root);
    else if (status == TAKT_ERR_FORMAT)
        status = refuse(b->ctx, path, takt_arena_format(&arena, "%s", takt_last_error(b->ctx)));
    takt_arena_deinit(&arena);
    return status;
}

takt_status takt_bench_load(takt_ctx *ctx, const char *path, takt_bench **bench)
{
    void *bytes;
    size_t length;
    *bench = NULL;
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_status status = takt_bench_create(ctx, NULL, bench);
    if (status == TAKT_OK)
        status = parse(*bench, path, bytes, length);
    takt_mem_put(ctx, bytes, length);
    if (status != TAKT_OK) {
        takt_bench_destroy(*bench);
        *bench = NULL;
    }
    return status;
}
