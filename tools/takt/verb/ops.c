/* ops.c - the operations, from their own records. */
#include "tool.h"

static int run(takt_tool *t)
{
    const char *name = t->arg_count > 0 ? t->args[0] : NULL;
    return tool_finish(t, takt_op_list(t->ctx, name, tool_format_of(t), tool_to_stdout, NULL));
}

const takt_verb takt_verb_ops = {
    .name = "ops",
    .summary = "the operations, or one of them with its attributes and examples",
    .arguments = "[OP]",
    .arg_min = 0,
    .arg_max = 1,
    .example = "takt ops softmax",
    .flags = {TAKT_FLAG_IDS},
    .run = run,
};
