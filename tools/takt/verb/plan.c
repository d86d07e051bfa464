/* plan.c - the steps of a plan and its memory, before anything runs. */
#include "tool.h"

static int describe(takt_tool *t, const takt_model *model)
{
    int code;
    tool_sizes sizes;
    if (!tool_sizes_init(t, model, &sizes))
        return TAKT_EXIT_USAGE;
    takt_plan *plan = tool_make_plan(t, model, &sizes, false, &code);
    if (plan == NULL)
        return code;
    code = tool_finish(t, tool_on(t, TAKT_F_SVG)
                              ? takt_plan_draw(plan, tool_to_stdout, NULL)
                              : takt_plan_describe(plan, tool_format_of(t), tool_to_stdout, NULL));
    takt_plan_destroy(plan);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = describe(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_plan = {
    .name = "plan",
    .summary = "the steps in order and the memory to the byte, before anything runs",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about =
        "With --svg, a picture: steps from left to right, bytes of the arena from bottom to top.",
    .example = "takt plan -D batch=32 --svg examples/cnn.takt > arena.svg",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SVG, TAKT_F_THREADS, TOOL_PLAN_FLAGS, TAKT_F_DONATE,
              TAKT_F_CPU_MASK, TAKT_FLAG_IDS},
    .run = run,
};
