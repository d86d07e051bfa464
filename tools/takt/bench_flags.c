/* bench_flags.c - the flags of `takt benchmark run`. */
#include <stdlib.h>
#include <string.h>

#include "bench_job.h"
#include "cache_use.h"

static bool take_metric(bench_job *j, const char *word)
{
    if (strcmp(word, "latency") == 0)
        j->info.latency = true;
    else if (strcmp(word, "throughput") == 0)
        j->info.throughput = true;
    else if (strcmp(word, "memory") == 0 || strcmp(word, "memory_usage") == 0)
        j->info.memory = true;
    else if (strcmp(word, "energy") == 0)
        j->info.energy = true;
    else
        return false;
    return true;
}

/* --metrics latency throughput memory: the words after the first come as arguments. */
static bool take_metrics(bench_job *j)
{
    takt_tool *t = j->t;
    const char *item;
    size_t kept = 0;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_METRICS, i)) != NULL; i++)
        for (const char *at = item; *at != '\0';) {
            char word[32];
            const size_t length = strcspn(at, ",");
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            if (!take_metric(j, word)) {
                tool_usage_error(t, 1003, "there are latency, throughput, memory and energy",
                                 "there is no metric %s", word);
                return false;
            }
            at += length + (at[length] == ',');
        }
    const bool has_list = tool_text_of(t, TAKT_F_METRICS) != NULL;
    for (size_t i = 0; i < t->arg_count; i++)
        if (!has_list || !take_metric(j, t->args[i]))
            t->args[kept++] = t->args[i];
    t->arg_count = kept;
    const size_t models = tool_text_of(t, TAKT_F_MODEL) != NULL ? 0 : 1;
    if (kept <= models)
        return true;
    if (has_list)
        tool_usage_error(t, 1003, "there are latency, throughput, memory and energy",
                         "there is no metric %s", t->args[models]);
    else
        tool_usage_error(t, 1003, "takt benchmark compare measures several",
                         "one model is measured at a time, and %s is another", t->args[models]);
    return false;
}

static bool take_count(takt_tool *t, tool_flag_id id, uint64_t *to)
{
    const char *text = tool_text_of(t, id);
    if (text == NULL || strcmp(text, "auto") == 0 || tool_read_number(TAKT_FLAG_NUMBER, text, to))
        return true;
    tool_usage_error(t, 1003, "write a number, or auto", "--%s %s is not a number",
                     tool_flags[id].name, text);
    return false;
}

bool bench_take_slo(takt_tool *t, takt_slo *slo)
{
    const char *text = tool_text_of(t, TAKT_F_SLO);
    uint64_t ns;
    char *end;
    if (text == NULL)
        return true;
    if (text[0] == 'p') {
        slo->part = strtod(text + 1, &end) / 100;
        if (end > text + 1 && *end == '=' && slo->part > 0 && slo->part <= 1 &&
            tool_read_number(TAKT_FLAG_TIME, end + 1, &ns)) {
            slo->limit_ns = (double)ns;
            return true;
        }
    }
    tool_usage_error(t, 1003, "write --slo p99=5ms", "--slo %s is not an SLO", text);
    return false;
}

static bool take_scenario(bench_job *j)
{
    takt_tool *t = j->t;
    takt_bench_case *c = &j->usual;
    const char *name = tool_text_of(t, TAKT_F_SCENARIO), *qps = tool_text_of(t, TAKT_F_QPS);
    int scenario = TAKT_SINGLE_STREAM;
    char *end = NULL;
    c->find_peak = tool_on(t, TAKT_F_FIND_PEAK);
    if (name == NULL && (qps != NULL || c->find_peak))
        name = "server"; /* only a server has a rate */
    while (name != NULL && scenario <= TAKT_OFFLINE &&
           strcmp(name, takt_scenario_name((takt_scenario_kind)scenario)) != 0)
        scenario++;
    c->scenario = (takt_scenario_kind)scenario;
    c->streams = (size_t)tool_number_of(t, TAKT_F_STREAMS, 0);
    c->qps = qps != NULL ? strtod(qps, &end) : 0;
    if (scenario > TAKT_OFFLINE)
        tool_usage_error(t, 1003, "there are single-stream, multi-stream, server and offline",
                         "there is no scenario %s", name);
    else if (qps != NULL && (*end != '\0' || !(c->qps > 0 && c->qps <= 1e9)))
        tool_usage_error(t, 1003, "write a rate such as 200", "--qps %s is not a rate", qps);
    else if ((qps != NULL || c->find_peak) && scenario != TAKT_SERVER)
        tool_usage_error(t, 1003, "use --scenario server", "--%s has no meaning %s",
                         qps != NULL ? "qps" : "find-peak",
                         takt_scenario_name((takt_scenario_kind)scenario));
    else if (scenario == TAKT_SERVER && qps == NULL && !c->find_peak)
        tool_usage_error(t, 1003, "--qps 200, or --find-peak --slo p99=5ms",
                         "a server needs to know how many queries come");
    else if (c->find_peak && !(c->slo.limit_ns > 0))
        tool_usage_error(t, 1003, "add --slo p99=5ms", "--find-peak needs an SLO to meet");
    else
        return true;
    return false;
}

enum { P99_RUNS = 368 }; /* the minimum for a p99 */

static bool take_timing(bench_job *j)
{
    takt_tool *t = j->t;
    takt_timing_options *o = &j->usual.timing;
    if (!take_count(t, TAKT_F_ITERATIONS, &o->runs) || !take_count(t, TAKT_F_WARMUP, &o->warmup) ||
        !tool_duration(t, TAKT_F_DURATION, 1000000000, &o->max_ns) ||
        !tool_percent(t, TAKT_F_CI_WIDTH, 0.01, &o->ci_width) ||
        !tool_numbers(t, TAKT_F_BATCH_SIZES, j->batches, &j->batch_count) ||
        !tool_numbers(t, TAKT_F_THREAD_LIST, j->threads, &j->thread_count))
        return false;
    const char *warmup = tool_text_of(t, TAKT_F_WARMUP), *runs = tool_text_of(t, TAKT_F_ITERATIONS);
    if (runs != NULL && o->runs == 0 && strcmp(runs, "auto") != 0) {
        tool_usage_error(t, 1003, "write a number, or auto", "--iterations %s measures nothing",
                         runs);
        return false;
    }
    o->no_warmup = warmup != NULL && strcmp(warmup, "0") == 0;
    o->include_copy = tool_on(t, TAKT_F_INCLUDE_COPY);
    o->min_runs = P99_RUNS;
    if (tool_text_of(t, TAKT_F_DURATION) != NULL)
        o->min_ns = o->max_ns; /* an explicit duration is used in full */
    return true;
}

static bool is_precision(const char *word)
{
    return strcmp(word, "f32") == 0 || strcmp(word, "f16") == 0 || strcmp(word, "bf16") == 0;
}

/* "f32,bf16": measured in order. A single word is left to the plan. */
static bool take_precisions(bench_job *j)
{
    const char *list = tool_text_of(j->t, TAKT_F_PRECISION);
    enum { MOST = sizeof j->precisions / sizeof *j->precisions };
    if (list == NULL || strchr(list, ',') == NULL)
        return true;
    for (const char *at = list; *at != '\0' && j->precision_count < MOST;) {
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof *j->precisions)
            break;
        snprintf(j->precisions[j->precision_count++], sizeof *j->precisions, "%.*s", (int)length,
                 at);
        if (!is_precision(j->precisions[j->precision_count - 1])) {
            tool_usage_error(j->t, 1003, "weights are stored in f32, f16 or bf16",
                             "there is no precision %.*s", (int)length, at);
            return false;
        }
        at += length;
        at += *at == ',' && at[1] != '\0';
        if (*at == '\0')
            return true;
    }
    tool_usage_error(j->t, 1003, "write --precision f32,bf16",
                     "--precision %s is not a list of precisions", list);
    return false;
}

static bool take_event(bench_job *j)
{
    j->event = tool_text_of(j->t, TAKT_F_COUNTER);
    if (j->event == NULL || strcmp(j->event, "instructions") == 0)
        return true;
    tool_usage_error(j->t, 1003, "there is instructions", "there is no counter %s", j->event);
    return false;
}

bool bench_take_flags(bench_job *j)
{
    takt_tool *t = j->t;
    const char *type = tool_text_of(t, TAKT_F_TYPE);
    if (type != NULL && strcmp(type, "inference") != 0 && strcmp(type, "memory") != 0) {
        tool_usage_error(t, 1003, "there are inference, generate, training, memory and system",
                         "there is no benchmark of type %s", type);
        return false;
    }
    j->info.type = type;
    if (!take_metrics(j) || !take_timing(j) || !bench_take_slo(t, &j->usual.slo) ||
        !take_scenario(j) || !take_precisions(j) || !take_event(j) || !tool_cache_flag(t))
        return false;
    const bool has_metric = j->info.latency || j->info.throughput || j->info.memory;
    if (type != NULL && strcmp(type, "memory") == 0 && !has_metric)
        j->info.memory = true;
    return true;
}
