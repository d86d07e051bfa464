/* diff.c - where two models differ first, by how much, and why. */
#include <string.h>

#include "data.h"

static int compare(takt_tool *t, const takt_model *ref, const takt_model *model)
{
    tool_sizes sizes;
    tool_data data;
    takt_diff_summary summary = {0};
    if (!tool_sizes_init(t, model, &sizes))
        return TAKT_EXIT_USAGE;
    int code = tool_data_load(t, model, &data);
    const takt_diff_options options = {.size = sizeof options,
                                       .sizes = sizes.text,
                                       .data = data.at,
                                       .data_count = data.count,
                                       .all = tool_on(t, TAKT_F_LAYERS),
                                       .summary = &summary};
    if (code == TAKT_EXIT_OK)
        code = tool_finish(
            t, takt_model_diff(ref, model, &options, tool_format_of(t), tool_to_screen, t));
    tool_data_free(t, &data);
    if (code != TAKT_EXIT_OK)
        return code;
    return summary.findings > 0 ? TAKT_EXIT_FAILED : TAKT_EXIT_OK;
}

static bool holds_values(const char *path)
{
    static const char *const ends[] = {".npz", ".safetensors"};
    for (size_t i = 0; i < 2; i++)
        if (strlen(path) > strlen(ends[i]) &&
            strcmp(path + strlen(path) - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

static int run(takt_tool *t)
{
    takt_model *ref = NULL, *model = NULL;
    const char *path = t->args[0];
    const bool is_single = t->arg_count == 1;
    int code = TAKT_EXIT_OK;
    if (!is_single)
        code = tool_finish(t, holds_values(path) ? takt_values_load(t->ctx, path, &ref)
                                                 : takt_model_load(t->ctx, path, NULL, &ref));
    if (code == TAKT_EXIT_OK)
        code = tool_finish(t, takt_model_load(t->ctx, t->args[is_single ? 0 : 1], NULL, &model));
    if (code == TAKT_EXIT_OK)
        code = compare(t, ref, model);
    takt_model_destroy(ref);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_diff = {
    .name = "diff",
    .task = TAKT_TASK_TRUST,
    .is_main = true,
    .summary = "find where a model first differs from a reference, and why",
    .arguments = "[REFERENCE] MODEL",
    .arg_min = 1,
    .arg_max = 2,
    .about = "The reference is a model, or a .npz or .safetensors file with values by name;\n"
             "without one it is the model itself, with every float in f64.\n"
             "Values are matched by name, by structure, then by their numbers. An error that a\n"
             "value introduces is shown separately from one that it inherits. Exit code 1: they\n"
             "differ.",
    .example = "takt diff examples/bounded.takt examples/bounded.takt --layers",
    .flags = {TAKT_F_DATA, TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_LAYERS, TAKT_FLAG_IDS},
    .run = run,
};
