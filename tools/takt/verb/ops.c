/* ops.c - the operations, from their own records; or the unsupported nodes of a model. */
#include <string.h>
#include <sys/stat.h>

#include "tool.h"

/* A file, or clearly meant as one: no operation has a dot in its name. */
static bool is_file(const char *path)
{
    struct stat about;
    path = tool_readable(path);
    return strpbrk(path, "./") != NULL || (stat(path, &about) == 0 && S_ISREG(about.st_mode));
}

static int run(takt_tool *t)
{
    const char *name = t->arg_count > 0 ? t->args[0] : NULL;
    if (name != NULL && is_file(name))
        return tool_check_model(t);
    const char *without = tool_text_of(t, TAKT_F_WITHOUT);
    if (without != NULL)
        return tool_finish(
            t, takt_op_list_without(t->ctx, without, tool_format_of(t), tool_to_screen, t));
    return tool_finish(t, takt_op_list(t->ctx, name, tool_format_of(t), tool_to_screen, t));
}

const takt_verb takt_verb_ops = {
    .name = "ops",
    .task = TAKT_TASK_MAKE,
    .summary = "list the operations, show one of them, or list the refused nodes of a model",
    .arguments = "[OP | MODEL]",
    .arg_min = 0,
    .arg_max = 1,
    .about =
        "With a model, lists every node that Takt does not support, with its type, opset, the\n"
        "reason and a hint; the exit code is 1 if there are any.",
    .example = "takt ops softmax; takt ops model.onnx",
    .flags = {TAKT_F_INPUT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SELECT, TAKT_F_ALLOW_LINKS,
              TAKT_F_WITHOUT, TAKT_FLAG_IDS},
    .run = run,
};
