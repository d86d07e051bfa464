/* inspect.c - what a model consists of, without running it. */
#include "tool.h"

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = tool_finish(t, takt_model_inspect(model, tool_format_of(t), tool_to_stdout, NULL));
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_inspect = {
    .name = "inspect",
    .summary = "inputs, outputs, parameters, operations and arithmetic of a model",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt inspect --json examples/cnn.takt",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_FLAG_IDS},
    .run = run,
};
