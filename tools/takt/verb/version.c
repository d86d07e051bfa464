/* version.c - the version of Takt, and how it was built. */
#include <string.h>

#include "tool.h"

/* Turns "key: value" lines into members of a JSON object. */
static void print_json(bool all)
{
    const char *before = "{";
    for (const char *line = takt_build_info(); *line != '\0';) {
        const size_t length = strcspn(line, "\n"), key = strcspn(line, ":");
        char text[2048];
        if (!all && before[0] == ',')
            break;
        snprintf(text, sizeof text, "%.*s", (int)key, line);
        printf("%s", before);
        tool_print_string(stdout, text);
        snprintf(text, sizeof text, "%.*s", (int)(length - key - 2), line + key + 2);
        printf(": ");
        tool_print_string(stdout, text);
        before = ", ";
        line += length + (line[length] == '\n');
    }
    printf("}\n");
}

static int run(takt_tool *t)
{
    const bool all = tool_on(t, TAKT_F_BUILD);
    if (tool_on(t, TAKT_F_JSON))
        print_json(all);
    else if (all)
        printf("%s", takt_build_info());
    else
        printf("takt %s\n", takt_version());
    return TAKT_EXIT_OK;
}

const takt_verb takt_verb_version = {
    .name = "version",
    .task = TAKT_TASK_COMMAND,
    .summary = "show the version of takt",
    .arguments = "",
    .arg_min = 0,
    .arg_max = 0,
    .example = "takt version --build",
    .flags = {TAKT_F_BUILD, TAKT_FLAG_IDS},
    .run = run,
};
