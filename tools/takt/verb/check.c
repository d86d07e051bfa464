/* check.c - whether a model's values fit another precision. */
#include "data.h"

static int exit_code(const takt_check_summary *s)
{
    return s->does > 0 ? TAKT_EXIT_FAILED : s->may > 0 ? TAKT_EXIT_INCONCLUSIVE : TAKT_EXIT_OK;
}

static int check(takt_tool *t, const takt_model *model)
{
    tool_sizes sizes;
    tool_data data;
    takt_check_summary summary = {0};
    if (!tool_sizes_init(t, model, &sizes))
        return TAKT_EXIT_USAGE;
    int code = tool_data_load(t, model, &data);
    const takt_check_options options = {.size = sizeof options,
                                        .precision = tool_text_of(t, TAKT_F_CHECKED_PRECISION),
                                        .sizes = sizes.text,
                                        .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0),
                                        .data = data.at,
                                        .data_count = data.count};
    if (code == TAKT_EXIT_OK)
        code = tool_finish(t, takt_precision_check(model, &options, tool_format_of(t),
                                                   tool_to_screen, t, &summary));
    tool_data_free(t, &data);
    return code != TAKT_EXIT_OK ? code : exit_code(&summary);
}

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = check(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_check = {
    .name = "check",
    .task = TAKT_TASK_TRUST,
    .summary = "check whether values overflow, underflow or clip in another precision",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "Bounds of inputs come from the model's require clauses; with --data they are\n"
             "measured. Exit code 0: everything fits, 1: something does not, 5: something may not.",
    .example = "takt check examples/bounded.takt --precision f16",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_DENSE_LIMIT,
              TAKT_F_CHECKED_PRECISION, TAKT_F_DATA, TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS,
              TAKT_FLAG_IDS},
    .run = run,
};
