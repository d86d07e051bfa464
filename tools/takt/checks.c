/* checks.c - what --checks says. */
#include <string.h>

#include "tool.h"

bool tool_checks(const takt_tool *t, const char **word, uint64_t *every)
{
    static const char sample[] = "sample=";
    *word = tool_text_of(t, TAKT_F_CHECKS);
    *every = 0;
    if (*word == NULL || strncmp(*word, sample, strlen(sample)) != 0)
        return true;
    if (!tool_read_number(TAKT_FLAG_COUNT, *word + strlen(sample), every) || *every == 0) {
        tool_usage_error(t, 1003, "sample=100 checks every 100th run",
                         "--checks %s: after sample= comes a number of runs", *word);
        return false;
    }
    *word = "off";
    return true;
}

int tool_make_checked(takt_tool *t, const takt_model *m, const tool_sizes *sizes)
{
    const char *word;
    uint64_t every;
    tool_request r;
    if (!tool_checks(t, &word, &every))
        return TAKT_EXIT_USAGE;
    if (every == 0)
        return TAKT_EXIT_OK;
    int code = tool_request_init(t, sizes->text, &r);
    if (code != TAKT_EXIT_OK)
        return code;
    r.options.checks = "on";
    t->checked = tool_request_plan(t, m, &r, &code);
    return code;
}
