/* bench_gbench.c - a result as Google Benchmark writes it, for tools that read that. */
#include <stdio.h>

#include "measure/bench.h"
#include "os/cpu.h"

/* Facts about this machine if it did the measuring; for a loaded result, those it states. */
static void context(takt_json_writer *w, const takt_bench *b)
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    takt_json_put_open(w, "context", '{');
    takt_json_put_string(w, "date", b->timestamp);
    takt_json_put_string(w, "executable", b->command_count > 0 ? b->command[0] : "takt");
    takt_json_put_integer(w, "num_cpus", b->usable);
    takt_json_put_open(w, "caches", '[');
    for (int i = 0; !b->is_loaded && i < TAKT_CACHE_LEVELS; i++) {
        if (facts.data[i].bytes == 0)
            continue;
        takt_json_open(w, '{');
        takt_json_put_string(w, "type", i == 0 ? "Data" : "Unified");
        takt_json_put_integer(w, "level", i + 1);
        takt_json_put_integer(w, "size", (int64_t)facts.data[i].bytes);
        takt_json_put_integer(w, "num_sharing", facts.data[i].shared_by);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
    takt_json_put_string(w, "library_build_type", b->is_debug ? "debug" : "release");
    takt_json_close(w, '}');
}

/* Processor time of a run, of all threads together: each run gets the share of the whole case.
 * Readers need the key, so if it was not measured it is the time of one busy thread. */
static double cpu_time(const takt_bench *b, const takt_bench_row *r, double ns)
{
    return r->usage.cpu_pct >= 0 && b->usable > 0 ? ns * r->usage.cpu_pct / 100 * b->usable : ns;
}

typedef struct line {
    const char *aggregate; /* NULL: the runs themselves */
    double ns, per_second;
} line;

static void entry(takt_json_writer *w, const takt_bench *b, const takt_bench_row *r, const line *l)
{
    char name[200], full[220];
    snprintf(name, sizeof name, "%.100s/batch:%lld/threads:%d", b->model, (long long)r->batch,
             r->threads);
    snprintf(full, sizeof full, "%s%s%s", name, l->aggregate != NULL ? "_" : "",
             l->aggregate != NULL ? l->aggregate : "");
    takt_json_open(w, '{');
    takt_json_put_string(w, "name", full);
    takt_json_put_integer(w, "family_index", 0);
    takt_json_put_integer(w, "per_family_instance_index", (int64_t)(r - b->rows));
    takt_json_put_string(w, "run_name", name);
    takt_json_put_string(w, "run_type", l->aggregate != NULL ? "aggregate" : "iteration");
    takt_json_put_integer(w, "repetitions", 1);
    if (l->aggregate != NULL) {
        takt_json_put_string(w, "aggregate_name", l->aggregate);
        takt_json_put_string(w, "aggregate_unit", "time");
    } else {
        takt_json_put_integer(w, "repetition_index", 0);
    }
    takt_json_put_integer(w, "threads", r->threads);
    takt_json_put_integer(w, "iterations", (int64_t)r->timing.stats.count);
    takt_json_put_number(w, "real_time", l->ns);
    takt_json_put_number(w, "cpu_time", cpu_time(b, r, l->ns));
    takt_json_put_string(w, "time_unit", "ns");
    if (l->per_second > 0)
        takt_json_put_number(w, "items_per_second", l->per_second);
    takt_json_close(w, '}');
}

void takt_bench_gbench(takt_json_writer *w, const takt_bench *b)
{
    takt_json_open(w, '{');
    context(w, b);
    takt_json_put_open(w, "benchmarks", '[');
    for (size_t i = 0; i < b->count; i++) {
        const takt_bench_row *r = &b->rows[i];
        const takt_stats *s = &r->timing.stats;
        const line lines[] = {{NULL, s->mean, r->throughput.mean},
                              {"mean", s->mean, r->throughput.mean},
                              {"median", s->median, r->throughput.median},
                              {"stddev", s->std, 0}};
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
            entry(w, b, r, &lines[k]);
    }
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}
