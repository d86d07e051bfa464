/* summary.c - a table of the layers. */
#include "tool.h"

static int run(takt_tool *t)
{
    int code;
    tool_sizes sizes;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = TAKT_EXIT_USAGE;
    if (tool_sizes_init(t, model, &sizes))
        code = tool_finish(
            t, takt_model_summary(model, sizes.text, tool_format_of(t), tool_to_screen, t));
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_summary = {
    .name = "summary",
    .task = TAKT_TASK_RUN,
    .summary = "show a table of the layers: shapes, parameters, multiply-adds",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt summary -D batch=32 examples/mlp.takt",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_DIM, TAKT_F_SHAPE, TAKT_FLAG_IDS},
    .run = run,
};
