/* benchmark_zoo.c - time, memory and score of every model of the zoo, one thread, one sample. */
#include <string.h>
#include <sys/stat.h>

#include "zoo.h"

/* What seed 002 promises of its models: below 2 ms, above 500 a second, below 100 KB. */
enum { MOST_NS = 2000000, LEAST_RATE = 500, MOST_BYTES = 100000 };

typedef struct result {
    double ns, bytes;
    uint64_t peak;
} result;

static takt_status measure(takt_tool *t, const tool_zoo_model *m, result *r)
{
    const takt_plan_options options = {.threads = 1};
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_timing timing = {0};
    struct stat about = {0};
    (void)stat(m->weights, &about);
    r->bytes = (double)about.st_size;
    takt_status status = takt_model_load(t->ctx, m->weights, NULL, &model);
    if (status == TAKT_OK)
        status = takt_plan_create(model, &options, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    for (size_t i = 0; status == TAKT_OK && i < takt_session_input_count(s); i++)
        status = takt_session_random(s, i, NULL, 1, (uint32_t)i);
    if (status == TAKT_OK)
        status = takt_session_time(s, &(takt_timing_options){.max_ns = 300000000}, &timing);
    if (status == TAKT_OK) {
        r->ns = timing.stats.median;
        takt_plan_info info;
        takt_plan_query(plan, &info);
        r->peak = info.peak;
    }
    takt_timing_free(t->ctx, &timing);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return status;
}

static const char *met(bool is_met)
{
    return is_met ? "yes" : "no";
}

static void row(const takt_tool *t, const tool_zoo_model *m, const result *r, bool is_first)
{
    const double rate = 1e9 / r->ns;
    if (tool_on(t, TAKT_F_JSON)) {
        printf("%s{\"name\": \"%s\", \"category\": \"%s\", \"data\": \"%s\", \"ns\": %.0f, "
               "\"per_second\": %.0f, \"bytes\": %.0f, \"peak\": %llu, \"score\": ",
               is_first ? "" : ", ", m->name, m->category, m->data, r->ns, rate, r->bytes,
               (unsigned long long)r->peak);
        tool_print_string(stdout, m->score);
        printf("}");
        return;
    }
    printf("%-16s %-8s %-10s %8.1f us %9.0f %7.1f kB %8.1f kB  %-18s %-4s %-4s %s\n", m->name,
           m->category, m->data, r->ns / 1000, rate, r->bytes / 1000, (double)r->peak / 1000,
           m->score, met(r->ns < MOST_NS), met(rate > LEAST_RATE), met(r->bytes < MOST_BYTES));
}

/* Means of a category beside what the seed states for it. */
static void means(const char *category, const double *sums, const char *claim)
{
    if (sums[2] > 0)
        printf("mean of %-8s %8.1f us, %.1f kB; seed 002 claims %s\n", category,
               sums[0] / sums[2] / 1000, sums[1] / sums[2] / 1000, claim);
}

static int run(takt_tool *t)
{
    static const char *const kinds[] = {"vision", "audio", "sensor"};
    static const char *const claims[] = {"0.78 ms", "0.54 ms", "0.60 ms"};
    static char names[TOOL_ZOO_MOST][64];
    double sums[3][3] = {{0}};
    const int count = tool_zoo_names(names);
    const bool json = tool_on(t, TAKT_F_JSON);
    tool_zoo_model m;
    if (count < 0)
        return tool_zoo_find(t, "", &m) ? TAKT_EXIT_FAILED : TAKT_EXIT_USAGE;
    if (json)
        printf("[");
    else
        printf("%-16s %-8s %-10s %11s %9s %10s %11s  %-18s %s\n", "model", "category", "data",
               "time", "a second", "file", "memory", "score", "< 2 ms, > 500/s, < 100 KB");
    for (int i = 0; i < count; i++) {
        result r = {0};
        if (!tool_zoo_find(t, names[i], &m))
            return TAKT_EXIT_USAGE;
        const int code = tool_finish(t, measure(t, &m, &r));
        if (code != TAKT_EXIT_OK)
            return code;
        row(t, &m, &r, i == 0);
        for (size_t k = 0; k < 3; k++)
            if (strcmp(m.category, kinds[k]) == 0) {
                sums[k][0] += r.ns;
                sums[k][1] += r.bytes;
                sums[k][2] += 1;
            }
    }
    if (json)
        printf("]\n");
    for (size_t k = 0; k < 3 && !json; k++)
        means(kinds[k], sums[k], claims[k]);
    return TAKT_EXIT_OK;
}

const takt_verb takt_verb_benchmark_zoo = {
    .name = "benchmark-zoo",
    .summary = "time, memory and score of every model of the zoo",
    .arguments = "",
    .about =
        "One sample, one thread, integers of 8 bits; whether the seed's bounds of 2 ms, 500 a\n"
        "second and 100 KB are met, each by itself, and its claims beside the means.",
    .example = "takt benchmark zoo",
    .flags = {TAKT_FLAG_IDS},
    .run = run,
};
