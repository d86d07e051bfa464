/* lowrank.c - a model whose layers are split into two thinner ones. */
#include "progress.h"
#include "shrink.h"
#include "train.h"

static int with_model(takt_tool *t, const takt_model *model)
{
    tool_keep keep;
    tool_sizes sizes;
    char command[96];
    takt_model *thin = NULL;
    tool_progress bar = {.t = t};
    takt_lowrank_options o = {.size = sizeof o,
                              .rank = (int64_t)tool_number_of(t, TAKT_F_RANK, 0),
                              .keeps = tool_keeps,
                              .size_first = tool_on(t, TAKT_F_SIZE_FIRST),
                              .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0),
                              .progress = tool_progress_part,
                              .progress_user = &bar};
    if (!tool_real(t, TAKT_F_ENERGY, 0, 1, &o.energy) || !tool_sizes_init(t, model, &sizes) ||
        !tool_keep_init(t, &keep))
        return TAKT_EXIT_USAGE;
    if (o.rank == 0 && tool_text_of(t, TAKT_F_ENERGY) == NULL)
        o.energy = 0.99;
    o.keeps_user = &keep;
    o.sizes = sizes.text;
    const takt_status status =
        takt_model_lowrank(model, &o, tool_format_of(t), tool_progress_report, &bar, &thin);
    tool_progress_end(&bar);
    int code = tool_finish(t, status);
    if (o.rank > 0)
        snprintf(command, sizeof command, "takt lowrank --rank %lld", (long long)o.rank);
    else
        snprintf(command, sizeof command, "takt lowrank --energy %g", o.energy);
    code = tool_keep_check(t, &keep, code);
    if (code == TAKT_EXIT_OK)
        code = tool_shrink_save(t, thin, command, NULL, 0);
    takt_model_destroy(thin);
    tool_keep_deinit(&keep);
    return code;
}

static int run(takt_tool *t)
{
    return tool_shrink_model(t, with_model);
}

const takt_verb takt_verb_lowrank = {
    .name = "lowrank",
    .task = TAKT_TASK_SHRINK,
    .summary = "factor the layers of a model into two thinner ones",
    .arguments = "MODEL -o F --energy E",
    .about = "Replaces weights by the product of two thin matrices, from their singular values in\n"
             "f64. A layer is replaced only where that is measured to be faster, unless\n"
             "--size-first. Without -o it only reports.",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt lowrank examples/mlp.takt --rank 16 --size-first",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_MODEL_FILE,
              TAKT_F_ENERGY, TAKT_F_RANK, TAKT_F_KEEP, TAKT_F_SIZE_FIRST, TAKT_F_DIM, TAKT_F_SHAPE,
              TAKT_F_THREADS, TAKT_FLAG_IDS},
    .run = run,
};
