/* benchmark_trends.c - several results in order, and the steps between them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

/* "step", or "slower:2%": how much worse the last step may be. */
static bool read_condition(const char *text, double *limit)
{
    char *end;
    *limit = 0;
    if (text == NULL || strcmp(text, "step") == 0 || strcmp(text, "slower") == 0)
        return true;
    if (strncmp(text, "slower:", 7) != 0)
        return false;
    *limit = strtod(text + 7, &end);
    const bool has_sign = *end == '%';
    *limit = has_sign ? *limit / 100 : *limit;
    return end > text + 7 && end[has_sign] == '\0' && *limit > 0;
}

static bool is_met(const char *condition, double limit, const takt_trend_steps *steps)
{
    if (condition == NULL || steps->count == 0)
        return false;
    return strcmp(condition, "step") == 0 || (steps->is_worse && fabs(steps->change) >= limit);
}

static int show(takt_tool *t, takt_bench *const *benches, size_t count)
{
    const char *fail_on = tool_text_of(t, TAKT_F_FAIL_ON);
    takt_trend trend = {
        .benches = benches, .count = count, .metric = tool_text_of(t, TAKT_F_METRIC)};
    const char *path;
    tool_buffer text = {0};
    takt_trend_steps steps;
    double limit;
    if (!read_condition(fail_on, &limit))
        return tool_usage_error(t, 1003, "write --fail-on step or --fail-on slower:2%",
                                "--fail-on %s is not a condition", fail_on);
    if (!tool_bench_format_of(t, &trend.format, &path))
        return TAKT_EXIT_USAGE;
    if (trend.format != TAKT_BENCH_TEXT && trend.format != TAKT_BENCH_JSON &&
        trend.format != TAKT_BENCH_HTML && trend.format != TAKT_BENCH_PNG)
        return tool_usage_error(t, 1003, "there are text, json, html and png",
                                "a trend has no such format");
    int code = tool_finish(t, takt_bench_trend(t->ctx, &trend, tool_to_buffer, &text, &steps));
    if (code == TAKT_EXIT_OK)
        code = tool_buffer_save(t, &text, path);
    if (code != TAKT_EXIT_OK)
        return code;
    if (strcmp(path, "-") != 0 && !tool_on(t, TAKT_F_QUIET)) {
        trend.format = TAKT_BENCH_TEXT;
        code = tool_finish(t, takt_bench_trend(t->ctx, &trend, tool_to_screen, t, &steps));
    }
    return code == TAKT_EXIT_OK && is_met(fail_on, limit, &steps) ? TAKT_EXIT_REGRESSION : code;
}

static int run(takt_tool *t)
{
    size_t count = 0, most = t->arg_count;
    const char *item;
    while (tool_item_of(t, TAKT_F_RESULTS, count) != NULL)
        count++;
    most += count;
    if (most == 0)
        return tool_usage_error(t, 1003, "takt benchmark trends results_*.json",
                                "there are no results to put in order");
    takt_bench **benches = calloc(most + 1, sizeof *benches);
    if (benches == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    int code = TAKT_EXIT_OK;
    size_t read = 0;
    for (size_t i = 0; i < most && code == TAKT_EXIT_OK; i++) {
        item = i < count ? tool_item_of(t, TAKT_F_RESULTS, i) : t->args[i - count];
        code = tool_finish(t, takt_bench_load(t->ctx, item, &benches[read]));
        if (code == TAKT_EXIT_OK)
            tool_note_incomplete(t, benches[read], item);
        read += code == TAKT_EXIT_OK;
    }
    if (code == TAKT_EXIT_OK)
        code = show(t, benches, read);
    for (size_t i = 0; i < read; i++)
        takt_bench_destroy(benches[i]);
    free(benches);
    return code;
}

const takt_verb takt_verb_benchmark_trends = {
    .name = "benchmark-trends",
    .task = TAKT_TASK_MEASURE,
    .summary = "show results over time, and where they changed permanently",
    .arguments = "RESULT ...",
    .arg_min = 0,
    .arg_max = 100000,
    .about = "Results are sorted by timestamp and must be of one machine and one case: the first\n"
             "case of the first result, with its backend, precision and numerics. A step is a\n"
             "lasting change of at least 1 % and three times the noise, seen in two results or\n"
             "more. Exit status 3: any step, with --fail-on step; a last step that is slower by\n"
             "that much, with --fail-on slower:2%.",
    .example = "takt benchmark trends --results results_*.json --metric latency -o trends.html",
    .flags = {TAKT_F_RESULTS, TAKT_F_METRIC, TAKT_F_FAIL_ON, TAKT_F_FORMAT, TAKT_F_FILE,
              TAKT_FLAG_IDS},
    .run = run,
};
