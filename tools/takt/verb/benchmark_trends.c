/* benchmark_trends.c - several results in order, and the step between them. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

static int show(takt_tool *t, takt_bench *const *benches, size_t count)
{
    const char *metric = tool_text_of(t, TAKT_F_METRIC), *fail_on = tool_text_of(t, TAKT_F_FAIL_ON);
    takt_trend trend = {.benches = benches, .count = count};
    const char *path;
    tool_buffer text = {0};
    size_t step;
    trend.metric = metric;
    if (fail_on != NULL && strcmp(fail_on, "step") != 0)
        return tool_usage_error(t, 1003, "write --fail-on step", "--fail-on %s is no condition",
                                fail_on);
    if (!tool_bench_format_of(t, &trend.format, &path))
        return TAKT_EXIT_USAGE;
    if (trend.format != TAKT_BENCH_TEXT && trend.format != TAKT_BENCH_JSON &&
        trend.format != TAKT_BENCH_HTML && trend.format != TAKT_BENCH_PNG)
        return tool_usage_error(t, 1003, "there are text, json, html and png",
                                "a trend has no such format");
    int code = tool_finish(t, takt_bench_trend(t->ctx, &trend, tool_to_buffer, &text, &step));
    const int saved = tool_buffer_save(t, &text, path);
    code = code != TAKT_EXIT_OK ? code : saved;
    return code == TAKT_EXIT_OK && fail_on != NULL && step > 0 ? TAKT_EXIT_REGRESSION : code;
}

static int run(takt_tool *t)
{
    size_t count = 0, most = t->arg_count;
    const char *item;
    while (tool_item_of(t, TAKT_F_RESULTS, count) != NULL)
        count++;
    most += count;
    takt_bench **benches = calloc(most + 1, sizeof *benches);
    if (benches == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    int code = TAKT_EXIT_OK;
    size_t read = 0;
    for (size_t i = 0; i < most && code == TAKT_EXIT_OK; i++) {
        item = i < count ? tool_item_of(t, TAKT_F_RESULTS, i) : t->args[i - count];
        code = tool_finish(t, takt_bench_load(t->ctx, item, &benches[read]));
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
    .summary = "results over time, and where they took a step",
    .arguments = "RESULT ...",
    .arg_min = 0,
    .arg_max = 100000,
    .about =
        "Results are taken in the order given and must be of one machine. With --fail-on step\n"
        "the exit status is 3 if there is one.",
    .example = "takt benchmark trends --results results_*.json --metric latency -o trends.html",
    .flags = {TAKT_F_RESULTS, TAKT_F_METRIC, TAKT_F_FAIL_ON, TAKT_F_FORMAT, TAKT_F_FILE,
              TAKT_FLAG_IDS},
    .run = run,
};
