/* bench_gbench.c - a result as Google Benchmark writes it, for tools that read that. */
#include <stdio.h>

#include "measure/bench.h"
#include "os/cpu.h"

static void string(takt_json_writer *w, const char *key, const char *value)
{
    takt_json_key(w, key);
    takt_json_string(w, value != NULL ? value : "");
}

static void integer(takt_json_writer *w, const char *key, int64_t value)
{
    takt_json_key(w, key);
    takt_json_integer(w, value);
}

static void number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_number(w, value);
}

/* Of this machine, where it is the one that measured; of a result that was read, what it says. */
static void context(takt_json_writer *w, const takt_bench *b)
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    takt_json_key(w, "context");
    takt_json_open(w, '{');
    string(w, "date", b->timestamp);
    string(w, "executable", b->command_count > 0 ? b->command[0] : "takt");
    integer(w, "num_cpus", b->usable);
    takt_json_key(w, "caches");
    takt_json_open(w, '[');
    for (int i = 0; !b->is_loaded && i < TAKT_CACHE_LEVELS; i++) {
        if (facts.data[i].bytes == 0)
            continue;
        takt_json_open(w, '{');
        string(w, "type", i == 0 ? "Data" : "Unified");
        integer(w, "level", i + 1);
        integer(w, "size", (int64_t)facts.data[i].bytes);
        integer(w, "num_sharing", facts.data[i].shared_by);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
    string(w, "library_build_type", b->is_debug ? "debug" : "release");
    takt_json_close(w, '}');
}

/* Processor time of a run, of all threads together: the share of the whole case is that of each of
 * its runs. Readers want the key, so where nobody looked it is the time of one busy thread. */
static double cpu_time(const takt_bench *b, const takt_bench_row *r, double ns)
{
    return r->more.cpu_pct >= 0 && b->usable > 0 ? ns * r->more.cpu_pct / 100 * b->usable : ns;
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
    string(w, "name", full);
    integer(w, "family_index", 0);
    integer(w, "per_family_instance_index", (int64_t)(r - b->rows));
    string(w, "run_name", name);
    string(w, "run_type", l->aggregate != NULL ? "aggregate" : "iteration");
    integer(w, "repetitions", 1);
    if (l->aggregate != NULL) {
        string(w, "aggregate_name", l->aggregate);
        string(w, "aggregate_unit", "time");
    } else {
        integer(w, "repetition_index", 0);
    }
    integer(w, "threads", r->threads);
    integer(w, "iterations", (int64_t)r->timing.stats.count);
    number(w, "real_time", l->ns);
    number(w, "cpu_time", cpu_time(b, r, l->ns));
    string(w, "time_unit", "ns");
    if (l->per_second > 0)
        number(w, "items_per_second", l->per_second);
    takt_json_close(w, '}');
}

void takt_bench_gbench(takt_json_writer *w, const takt_bench *b)
{
    takt_json_open(w, '{');
    context(w, b);
    takt_json_key(w, "benchmarks");
    takt_json_open(w, '[');
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
