/* threads.c - sessions with the flags for threads and pages. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* Parses "1:2" at `text`; false if it is something else. */
static bool read_pair(const char *text, long *worker, long *core, const char **end)
{
    char *after;
    if (*text < '0' || *text > '9')
        return false;
    *worker = strtol(text, &after, 10);
    if (*after != ':' || after[1] < '0' || after[1] > '9')
        return false;
    *core = strtol(after + 1, &after, 10);
    *end = after;
    return *after == '\0' || *after == ',';
}

static bool read_pins(const takt_tool *t, int cores[TAKT_TOOL_CORES], size_t *count)
{
    const char *item;
    for (int i = 0; i < TAKT_TOOL_CORES; i++)
        cores[i] = -1;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_PIN, i)) != NULL; i++)
        for (const char *at = item; at != NULL;) {
            long worker, core;
            if (!read_pair(at, &worker, &core, &at) || worker >= TAKT_TOOL_CORES || core > 65535) {
                tool_usage_error(t, 1003, "write --pin 0:1,1:2: worker 0 to core 1, 1 to core 2",
                                 "--pin %s is not a list of WORKER:CORE", item);
                return false;
            }
            if (cores[worker] >= 0) {
                tool_usage_error(t, 1003, NULL, "--pin: worker %ld is given two cores", worker);
                return false;
            }
            cores[worker] = (int)core;
            *count = *count > (size_t)worker ? *count : (size_t)worker + 1;
            at = *at == ',' ? at + 1 : NULL;
        }
    return true;
}

static bool read_pages(const takt_tool *t, takt_huge_pages *pages)
{
    static const char *const names[] = {"auto", "off", "thp", "explicit"};
    const char *word = tool_text_of(t, TAKT_F_HUGE_PAGES);
    *pages = TAKT_HUGE_AUTO;
    for (size_t i = 0; word != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0) {
            *pages = (takt_huge_pages)i;
            return true;
        }
    if (word != NULL)
        tool_usage_error(t, 1003, "there are auto, off, thp and explicit",
                         "--huge-pages does not know %s", word);
    return word == NULL;
}

bool tool_session_options(const takt_tool *t, int cores[TAKT_TOOL_CORES],
                          takt_session_options *options)
{
    *options = (takt_session_options){.cores = cores};
    if (tool_text_of(t, TAKT_F_SPIN) != NULL) {
        const uint64_t us = tool_number_of(t, TAKT_F_SPIN, 0);
        options->spin_ns = us == 0 ? -1 : us < 1000000000 ? (int64_t)us * 1000 : INT64_MAX;
    }
    options->static_shapes = tool_on(t, TAKT_F_STATIC_SHAPES);
    const char *word;
    options->checked = t->checked;
    if (!tool_checks(t, &word, &options->check_every))
        return false;
    return read_pins(t, cores, &options->core_count) && read_pages(t, &options->huge_pages);
}

takt_session *tool_make_session(takt_tool *t, takt_plan *plan, int *code)
{
    static const char *const kinds[] = {"", "ordinary pages", "transparent huge pages",
                                        "reserved huge pages"};
    int cores[TAKT_TOOL_CORES];
    takt_session_options options;
    takt_session *s = NULL;
    const char *reason;
    *code = TAKT_EXIT_USAGE;
    if (!tool_session_options(t, cores, &options))
        return NULL;
    *code = tool_finish(t, takt_session_create(plan, &options, &s));
    if (s == NULL || options.huge_pages <= TAKT_HUGE_OFF || tool_on(t, TAKT_F_QUIET))
        return s;
    const takt_huge_pages got = takt_session_huge_pages(s, &reason);
    fprintf(stderr, "the arena has %s%s%s\n", kinds[got], reason[0] != '\0' ? ": " : "", reason);
    return s;
}
