/* inspect.c - describes a model or a file of weights, without running it. */
#include "tool.h"

/* Files that cannot be opened are left to the model loader, which reports why. */
static bool holds_weights(takt_tool *t)
{
    bool holds = false;
    return t->arg_count > 0 && takt_weights_probe(t->ctx, t->args[0], &holds) == TAKT_OK && holds;
}

static int run(takt_tool *t)
{
    int code;
    if (holds_weights(t))
        return tool_finish(
            t, takt_weights_inspect(t->ctx, t->args[0], tool_format_of(t), tool_to_screen, t));
    takt_model *model = tool_open_sized(t, &code);
    if (model == NULL)
        return code;
    code = tool_finish(t, takt_model_inspect(model, tool_format_of(t), tool_to_screen, t));
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_inspect = {
    .name = "inspect",
    .task = TAKT_TASK_RUN,
    .is_main = true,
    .summary = "show a model's inputs, outputs, parameters and arithmetic",
    .arguments = "MODEL",
    .about = "Also lists the tensors of a weights file (safetensors, its .index.json, npz or npy).",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt inspect --json examples/cnn.takt",
    .often = (const tool_flag_id[]){TAKT_F_WEIGHTS, TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_SELECT,
                                    TAKT_F_TEXT_CONTEXT, TAKT_F_CACHE_TYPE_K, TAKT_F_CACHE_TYPE_V,
                                    TAKT_F_STATE_AUTO, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_DENSE_LIMIT,
              TAKT_F_INPUT, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_TEXT_CONTEXT, TAKT_F_CACHE_TYPE_K,
              TAKT_F_CACHE_TYPE_V, TAKT_F_STATE_AUTO, TAKT_FLAG_IDS},
    .run = run,
};
