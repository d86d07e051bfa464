/* measure_flags.c - lists, fractions, formats and plans from the flags of measuring verbs. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"

bool tool_percent(const takt_tool *t, tool_flag_id id, double fallback, double *part)
{
    const char *text = tool_text_of(t, id);
    char *end;
    *part = fallback;
    if (text == NULL)
        return true;
    const double value = strtod(text, &end);
    if (end == text || (*end != '\0' && strcmp(end, "%") != 0) || !(value > 0) ||
        value > (*end == '%' ? 1e4 : 1)) {
        tool_usage_error(t, 1003, "write 1% or 0.01", "--%s %s is not a fraction",
                         tool_flags[id].name, text);
        return false;
    }
    *part = *end == '%' ? value / 100 : value;
    return true;
}

static bool push(uint64_t value, uint64_t *to, size_t *count)
{
    if (*count == TAKT_TOOL_LIST || value == 0 || value > INT32_MAX)
        return false;
    to[(*count)++] = value;
    return true;
}

/* One item: a number, or a range with a step or a factor. */
static bool read_item(const char *text, uint64_t *to, size_t *count)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    const uint64_t first = strtoull(text, &end, 10);
    if (*end == '\0')
        return push(first, to, count);
    if (*end != '-' || end[1] < '0' || end[1] > '9')
        return false;
    const uint64_t last = strtoull(end + 1, &end, 10);
    const char how = *end;
    const uint64_t by = how != '\0' ? strtoull(end + 1, &end, 10) : 1;
    if (*end != '\0' || (how != '\0' && how != '*' && how != '+') || by < (how == '*' ? 2 : 1) ||
        first > last || first == 0)
        return false;
    for (uint64_t v = first; v <= last; v = how == '*' ? v * by : v + by)
        if (!push(v, to, count))
            return false;
    return true;
}

bool tool_numbers(const takt_tool *t, tool_flag_id id, uint64_t *to, size_t *count)
{
    const char *text = tool_text_of(t, id);
    *count = 0;
    if (id == TAKT_F_THREAD_LIST && text != NULL &&
        (strcmp(text, "auto") == 0 || strcmp(text, "physical") == 0))
        return true; /* one per core, as by default */
    for (const char *at = text; at != NULL && *at != '\0';) {
        char item[64];
        const size_t length = strcspn(at, ",");
        if (length < sizeof item)
            snprintf(item, sizeof item, "%.*s", (int)length, at);
        if (length >= sizeof item || !read_item(item, to, count)) {
            tool_usage_error(t, 1003, "write 8, 1,4,8 or 1-64*2", "--%s %s is not a list of sizes",
                             tool_flags[id].name, text);
            return false;
        }
        at += length + (at[length] == ',');
    }
    return true;
}

bool tool_bench_format_of(const takt_tool *t, takt_bench_format *format, const char **path)
{
    static const char *const names[] = {"text", "json", "jsonl",  "csv",
                                        "md",   "html", "gbench", "png"};
    const char *file = tool_text_of(t, TAKT_F_FILE), *name = tool_text_of(t, TAKT_F_FORMAT);
    const char *dot = file != NULL ? strrchr(file, '.') : NULL;
    const char *word = name != NULL ? name : dot != NULL ? dot + 1 : file;
    *format = tool_on(t, TAKT_F_JSON) ? TAKT_BENCH_JSON : TAKT_BENCH_TEXT;
    *path = file != NULL ? file : "-";
    for (size_t i = 0; word != NULL && i < sizeof names / sizeof *names; i++) {
        if (strcmp(word, names[i]) != 0)
            continue;
        *format = (takt_bench_format)i;
        /* llama-bench's -o json: a format, not a file. */
        *path = file == NULL || (name == NULL && dot == NULL) ? "-" : file;
        return true;
    }
    if (word == NULL || strcmp(word, "-") == 0 || (name == NULL && strcmp(word, "txt") == 0))
        return true;
    tool_usage_error(t, 1003, "there are text, json, jsonl, csv, md, html, png and gbench",
                     "%s is not a format of results", word);
    return false;
}

void tool_timestamp(char to[32])
{
    const time_t now = time(NULL);
    const struct tm *utc = gmtime(&now);
    if (utc == NULL || strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", utc) == 0)
        to[0] = '\0';
}

takt_status tool_try_plan(takt_tool *t, const takt_model *m, const char *sizes, int threads,
                          takt_plan **plan)
{
    return tool_plan_on(t, m, NULL, sizes, threads, plan);
}

takt_status tool_plan_on(takt_tool *t, const takt_model *m, const char *backend, const char *sizes,
                         int threads, takt_plan **plan)
{
    tool_request r;
    *plan = NULL;
    if (tool_request_init(t, sizes, &r) != TAKT_EXIT_OK)
        return TAKT_ERR_CANCELLED; /* and printed */
    r.options.threads = threads;
    if (backend != NULL)
        r.options.backend = backend;
    const takt_status status = takt_plan_create(m, &r.options, plan);
    tool_request_free(&r);
    return status;
}

int tool_planned(const takt_tool *t, takt_status status)
{
    return status == TAKT_ERR_CANCELLED ? TAKT_EXIT_USAGE : tool_finish(t, status);
}

void tool_note_config(const takt_tool *t, const takt_plan *plan)
{
    takt_run_config config;
    takt_plan_config(plan, &config);
    if (config.note != NULL && !tool_on(t, TAKT_F_QUIET))
        fprintf(stderr, "note: %s\n", config.note);
}

void tool_note_incomplete(const takt_tool *t, const takt_bench *b, const char *path)
{
    if (takt_bench_is_incomplete(b) && !tool_on(t, TAKT_F_QUIET))
        fprintf(stderr, "note: %s is incomplete: its measurement was broken off\n", path);
}

const char *tool_batch_name(const takt_model *m)
{
    const char *first = NULL;
    for (size_t i = 0; i < takt_model_input_count(m); i++) {
        const takt_desc *d = takt_model_input(m, i);
        const char *name = d->rank > 0 ? d->dim_names[0] : NULL;
        first = first != NULL ? first : name;
        if (name != NULL && strcmp(name, "batch") == 0)
            return name;
    }
    return first;
}
