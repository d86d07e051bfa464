/* kernels.c - which kernel each step got, and why not another. */
#include "tool.h"

static int list(takt_tool *t, const takt_model *model)
{
    int code;
    tool_sizes sizes;
    if (!tool_sizes_init(t, model, &sizes))
        return TAKT_EXIT_USAGE;
    takt_plan *plan = tool_make_plan(t, model, &sizes, false, &code);
    if (plan == NULL)
        return code;
    code = tool_finish(t, takt_plan_kernels(plan, tool_format_of(t), tool_to_screen, t));
    takt_plan_destroy(plan);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = list(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_kernels = {
    .name = "kernels",
    .task = TAKT_TASK_MEASURE,
    .summary = "show which kernel each step got, which were refused and why",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt kernels --isa scalar examples/mlp.takt",
    .often = (const tool_flag_id[]){TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS, TAKT_F_BACKEND,
                                    TAKT_F_ISA, TAKT_F_LEVEL, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_THREADS, TOOL_PLAN_FLAGS, TAKT_F_DONATE,
              TAKT_FLAG_IDS},
    .run = run,
};
