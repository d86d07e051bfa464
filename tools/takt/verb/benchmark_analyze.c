/* benchmark_analyze.c - analysis of a result file. */
#include "measure.h"

static takt_status write(const takt_tool *t, const takt_bench *bench, takt_bench_format format,
                         tool_buffer *text)
{
    if (tool_on(t, TAKT_F_BOTTLENECKS))
        return takt_bench_bottlenecks(
            bench, format == TAKT_BENCH_JSON ? TAKT_FORMAT_JSON : TAKT_FORMAT_TEXT, tool_to_buffer,
            text);
    if (format == TAKT_BENCH_TEXT)
        return takt_bench_analyze(bench, TAKT_FORMAT_TEXT, tool_to_buffer, text);
    return takt_bench_write(bench, format, tool_to_buffer, text);
}

static int run(takt_tool *t)
{
    const char *path = tool_item_of(t, TAKT_F_RESULTS, 0);
    takt_bench_format format;
    const char *to;
    takt_bench *bench;
    tool_buffer text = {0};
    path = path != NULL ? path : t->arg_count > 0 ? t->args[0] : NULL;
    if (path == NULL)
        return tool_usage_error(t, 1003, "takt benchmark analyze result.json",
                                "there is no result to analyse");
    if (!tool_bench_format_of(t, &format, &to))
        return TAKT_EXIT_USAGE;
    if (tool_on(t, TAKT_F_BOTTLENECKS) && format != TAKT_BENCH_TEXT && format != TAKT_BENCH_JSON)
        return tool_usage_error(t, 1003, "text and json", "--bottlenecks has no such format");
    int code = tool_finish(t, takt_bench_load(t->ctx, path, &bench));
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_finish(t, write(t, bench, format, &text));
    const int saved = tool_buffer_save(t, &text, to);
    takt_bench_destroy(bench);
    return code != TAKT_EXIT_OK ? code : saved;
}

const takt_verb takt_verb_benchmark_analyze = {
    .name = "benchmark-analyze",
    .task = TAKT_TASK_MEASURE,
    .summary = "summarise a result: costly steps, outliers, what to look at",
    .arguments = "RESULT",
    .arg_min = 0,
    .arg_max = 1,
    .about =
        "Reads the JSON and HTML files that `takt benchmark run` writes. --bottlenecks prints\n"
        "only the steps that take 80 % of the time: what bounds each, what to do about it,\n"
        "and the most that this could save.",
    .example = "takt benchmark analyze --results result.json",
    .flags = {TAKT_F_RESULTS, TAKT_F_BOTTLENECKS, TAKT_F_FORMAT, TAKT_F_FILE, TAKT_FLAG_IDS},
    .run = run,
};
