/* help.c - help on the command or on one verb, and the manual page. */
#include <string.h>

#include "tool.h"

static int run(takt_tool *t)
{
    if (tool_on(t, TAKT_F_MAN)) {
        tool_help_man();
        return TAKT_EXIT_OK;
    }
    const bool json = tool_on(t, TAKT_F_JSON);
    const bool is_all = t->arg_count == 1 && strcmp(t->args[0], "all") == 0;
    if (t->arg_count == 0 || is_all) {
        if (json)
            tool_help_json(NULL);
        else if (is_all)
            tool_help_all();
        else
            tool_help_overview();
        return TAKT_EXIT_OK;
    }
    char pair[64] = "";
    if (t->arg_count > 1)
        snprintf(pair, sizeof pair, "%.30s-%.30s", t->args[0], t->args[1]);
    const takt_verb *verb = tool_verb_find(t->arg_count > 1 ? pair : t->args[0]);
    if (verb == NULL && t->arg_count > 1 && tool_verb_find(t->args[0]) != NULL)
        return tool_usage_error(t, 1003, "ask for one at a time", "%s is not part of takt %s",
                                t->args[1], t->args[0]);
    if (verb == NULL && t->arg_count == 1 && tool_help_group(t->args[0]))
        return TAKT_EXIT_OK;
    if (verb == NULL)
        return tool_unknown_verb(t, t->args[0], t->arg_count > 1 ? t->args[1] : NULL);
    if (json)
        tool_help_json(verb);
    else
        tool_help_verb(verb, false);
    return TAKT_EXIT_OK;
}

const takt_verb takt_verb_help = {
    .name = "help",
    .task = TAKT_TASK_COMMAND,
    .summary = "show the verbs used most, all of them, or a verb's flags",
    .arguments = "[all | VERB]",
    .arg_min = 0,
    .arg_max = 2,
    .example = "takt help run",
    .flags = {TAKT_F_MAN, TAKT_FLAG_IDS},
    .run = run,
};
