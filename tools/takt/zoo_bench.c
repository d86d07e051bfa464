/* zoo_bench.c - time, memory and score of every model of the zoo, one thread, one sample. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process.h"
#include "zoo.h"

/* The claims of seed 002 about its models: below 2 ms, above 500 a second, below 100 KB. */
enum { MOST_NS = 2000000, LEAST_RATE = 500, MOST_BYTES = 100000 };

typedef struct result {
    double ns, bytes, parameters;
    uint64_t arena, peak;
} result;

/* Sums of a category's results, and how many there are. */
typedef struct sums {
    double ns, bytes, parameters, peak, count;
} sums;

/* The figures that the seed states for a category; it has none for texts. */
static const struct claim {
    const char *category, *text;
} claims[] = {{"vision", "0.78 ms, 58 K parameters, 0.16 MB"},
              {"audio", "0.54 ms, 28 K parameters, 0.09 MB"},
              {"sensor", "0.60 ms, 32 K parameters, 0.11 MB"},
              {"text", "nothing of its own"},
              {"all", "0.64 ms, 39 K parameters, 0.12 MB"}};

enum { CLAIMS = sizeof claims / sizeof *claims };

/* Parameters as the text has them; the file's weights are constants. */
static takt_status count_parameters(takt_tool *t, const tool_zoo_model *m, result *r)
{
    takt_model *model = NULL;
    tool_buffer text = {0};
    takt_status status = takt_model_load(t->ctx, m->text, NULL, &model);
    if (status == TAKT_OK)
        status = takt_model_inspect(model, TAKT_FORMAT_JSON, tool_to_buffer, &text);
    const char *at = text.at != NULL ? strstr(text.at, "\"parameters\": ") : NULL;
    r->parameters = at != NULL ? strtod(at + strlen("\"parameters\": "), NULL) : 0;
    free(text.at);
    takt_model_destroy(model);
    return status;
}

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
        status = takt_session_time(s, &(takt_timing_options){.max_ns = 100000000}, &timing);
    if (status == TAKT_OK) {
        r->ns = timing.stats.median;
        takt_plan_info info;
        takt_plan_query(plan, &info);
        r->peak = info.peak;
        r->arena = info.arena;
        status = count_parameters(t, m, r);
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
    const bool is_fast = r->ns<MOST_NS, is_often = rate> LEAST_RATE,
               is_small = r->bytes < MOST_BYTES;
    if (tool_on(t, TAKT_F_JSON)) {
        printf("%s{\"name\": \"%s\", \"category\": \"%s\", \"data\": \"%s\", \"ns\": %.0f, "
               "\"per_second\": %.0f, \"parameters\": %.0f, \"bytes\": %.0f, \"arena\": %llu, "
               "\"peak\": %llu, \"below_2_ms\": %s, \"above_500_fps\": %s, \"below_100_kb\": %s, "
               "\"score\": ",
               is_first ? "" : ", ", m->name, m->category, m->data, r->ns, rate, r->parameters,
               r->bytes, (unsigned long long)r->arena, (unsigned long long)r->peak,
               is_fast ? "true" : "false", is_often ? "true" : "false",
               is_small ? "true" : "false");
        tool_print_string(stdout, m->score);
        printf(", \"chance\": ");
        tool_print_string(stdout, m->chance);
        printf("}");
        return;
    }
    printf("%-16s %-8s %-10s %8.1f us %8.0f %10.0f %7.1f kB %7.1f kB  %-20s %-10s %-4s %-4s %s\n",
           m->name, m->category, m->data, r->ns / 1000, rate, r->parameters, r->bytes / 1000,
           (double)r->arena / 1000, m->score, m->chance, met(is_fast), met(is_often),
           met(is_small));
}

static void add(sums *s, const result *r)
{
    s->ns += r->ns;
    s->bytes += r->bytes;
    s->parameters += r->parameters;
    s->peak += (double)r->peak;
    s->count++;
}

/* Means of a category next to the figures that the seed states for it. */
static void means(const struct claim *c, const sums *s)
{
    if (s->count > 0)
        printf("mean of %.0f %s: %.1f us, %.0f a second, %.1f K parameters, file %.1f kB, memory "
               "%.1f kB; seed 002 claims %s\n",
               s->count, c->category, s->ns / s->count / 1000, 1e9 * s->count / s->ns,
               s->parameters / s->count / 1000, s->bytes / s->count / 1000,
               s->peak / s->count / 1000, c->text);
}

static bool is_category(const takt_tool *t, const char *word)
{
    char hint[128] = "it has";
    for (int i = 0; tool_zoo_categories[i] != NULL; i++) {
        if (word == NULL || strcmp(word, tool_zoo_categories[i]) == 0)
            return true;
        snprintf(hint + strlen(hint), sizeof hint - strlen(hint), "%s %s", i > 0 ? "," : "",
                 tool_zoo_categories[i]);
    }
    (void)tool_usage_error(t, 1003, hint, "the zoo has no category %s", word);
    return false;
}

static int over_all(takt_tool *t, char names[][64], int count, sums totals[CLAIMS])
{
    const char *only = tool_text_of(t, TAKT_F_CATEGORY);
    bool is_first = true;
    for (int i = 0; i < count; i++) {
        tool_zoo_model m;
        result r = {0};
        if (!tool_zoo_find(t, names[i], &m))
            return TAKT_EXIT_USAGE;
        if (only != NULL && strcmp(only, m.category) != 0)
            continue;
        const int code = tool_finish(t, measure(t, &m, &r));
        if (code != TAKT_EXIT_OK)
            return code;
        row(t, &m, &r, is_first);
        is_first = false;
        for (int k = 0; k < CLAIMS; k++)
            if (strcmp(m.category, claims[k].category) == 0 || (k == CLAIMS - 1 && only == NULL))
                add(&totals[k], &r);
    }
    return TAKT_EXIT_OK;
}

int tool_zoo_benchmark(takt_tool *t)
{
    static char names[TOOL_ZOO_MOST][64];
    sums totals[CLAIMS] = {{0}};
    const int count = tool_zoo_names(names);
    const bool json = tool_on(t, TAKT_F_JSON);
    tool_zoo_model m;
    if (count < 0)
        return tool_zoo_find(t, "", &m) ? TAKT_EXIT_FAILED : TAKT_EXIT_USAGE;
    if (!is_category(t, tool_text_of(t, TAKT_F_CATEGORY)))
        return TAKT_EXIT_USAGE;
    if (json)
        printf("[");
    else
        printf("%-16s %-8s %-10s %11s %8s %10s %10s %10s  %-20s %-10s %s\n", "model", "category",
               "data", "time", "a second", "parameters", "file", "arena", "score", "chance",
               "< 2 ms, > 500/s, < 100 KB");
    const int code = over_all(t, names, count, totals);
    if (json)
        printf("]\n");
    for (int k = 0; k < CLAIMS && !json && code == TAKT_EXIT_OK; k++)
        means(&claims[k], &totals[k]);
    return code;
}
