/* backends.c - which backends there are, and whether they can be used here. */
#include "tool.h"

static int run(takt_tool *t)
{
    return tool_finish(t, takt_backend_list(t->ctx, tool_format_of(t), tool_to_screen, t));
}

const takt_verb takt_verb_backends = {
    .name = "backends",
    .task = TAKT_TASK_RUN,
    .summary = "list the backends, and why one cannot be used",
    .arguments = "",
    .arg_min = 0,
    .arg_max = 0,
    .example = "takt backends --json",
    .flags = {TAKT_FLAG_IDS},
    .run = run,
};
