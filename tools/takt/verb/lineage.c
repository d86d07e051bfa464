/* lineage.c - which commands and files a model file came from. */
#include "tool.h"

static int run(takt_tool *t)
{
    size_t changed = 0;
    const takt_lineage_options options = {
        .size = sizeof options, .verify = tool_on(t, TAKT_F_VERIFY), .changed = &changed};
    const int code = tool_finish(
        t, takt_lineage_list(t->ctx, t->args[0], &options, tool_format_of(t), tool_to_screen, t));
    return code == TAKT_EXIT_OK && changed > 0 ? TAKT_EXIT_FAILED : code;
}

const takt_verb takt_verb_lineage = {
    .name = "lineage",
    .task = TAKT_TASK_MAKE,
    .summary = "show the commands and files that a model file came from",
    .arguments = "FILE",
    .arg_min = 1,
    .arg_max = 1,
    .about =
        "The newest link comes first. --verify looks for the files next to this one; the exit\n"
        "code is 1 if one of them has changed since.",
    .example = "takt lineage examples/bounded.takt --verify",
    .flags = {TAKT_F_VERIFY, TAKT_FLAG_IDS},
    .run = run,
};
