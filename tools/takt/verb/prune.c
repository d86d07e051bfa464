/* prune.c - a model without the channels that are worth least. */
#include <string.h>

#include "shrink.h"
#include "train.h"

static int prune(takt_tool *t, const takt_model *model, takt_prune_options *o)
{
    static const tool_flag_id reads[] = {TAKT_F_SCORED};
    char command[160];
    takt_model *small = NULL;
    int code =
        tool_finish(t, takt_model_prune(model, o, tool_format_of(t), tool_to_screen, t, &small));
    if (code != TAKT_EXIT_OK)
        return code;
    snprintf(command, sizeof command, "takt prune %s --amount %g --criterion %s",
             o->unstructured ? "--unstructured" : "--structured channels", o->amount,
             o->criterion != NULL ? o->criterion : "magnitude");
    code = tool_shrink_save(t, small, command, reads, 1);
    takt_model_destroy(small);
    return code;
}

static int with_model(takt_tool *t, const takt_model *model)
{
    regex_t room, *keep = NULL;
    tool_sizes sizes;
    const char *structured = tool_text_of(t, TAKT_F_STRUCTURED);
    takt_prune_options o = {.size = sizeof o,
                            .amount = 0.3,
                            .criterion = tool_text_of(t, TAKT_F_CRITERION),
                            .unstructured = tool_on(t, TAKT_F_UNSTRUCTURED),
                            .keeps = tool_keeps,
                            .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0)};
    if (structured != NULL && (strcmp(structured, "channels") != 0 || o.unstructured))
        return tool_usage_error(t, 1003, "write --structured channels, or --unstructured",
                                "what goes is channels, or single weights, not %s", structured);
    if (!tool_real(t, TAKT_F_AMOUNT, 0, 1, &o.amount) || !tool_sizes_init(t, model, &sizes) ||
        !tool_keep_init(t, &room, &keep))
        return TAKT_EXIT_USAGE;
    o.keeps_user = keep;
    o.sizes = sizes.text;
    takt_data *data = NULL;
    int code = TAKT_EXIT_USAGE;
    if (tool_shrink_data(t, TAKT_F_SCORED, "train", tool_number_of(t, TAKT_F_SAMPLES, 0), &data,
                         &code)) {
        o.data = data;
        code = prune(t, model, &o);
    }
    takt_data_destroy(data);
    if (keep != NULL)
        regfree(keep);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = with_model(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_prune = {
    .name = "prune",
    .summary = "a model without the channels that are worth least",
    .arguments = "MODEL -o F --amount A",
    .about =
        "Channels go with everything that belongs to them: columns of the next layer, scales\n"
        "of norms, the other branch of a residual, whole heads of attention. The result is an\n"
        "ordinary model, which can be trained on. Without -o only the report is made.",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt prune examples/cnn.takt --amount 0.5",
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_MODEL_FILE,
              TAKT_F_STRUCTURED, TAKT_F_UNSTRUCTURED, TAKT_F_AMOUNT, TAKT_F_CRITERION, TAKT_F_KEEP,
              TAKT_F_SCORED, TAKT_F_SAMPLES, TAKT_F_LABEL, TAKT_F_WINDOW, TAKT_F_SCALE, TAKT_F_DIM,
              TAKT_F_SHAPE, TAKT_F_THREADS, TAKT_FLAG_IDS},
    .run = run,
};
