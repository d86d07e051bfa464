/* data.c - describes a data set. */
#include "train.h"

static int run(takt_tool *t)
{
    int code;
    if (tool_on(t, TAKT_F_LIST))
        return tool_data_list(t);
    takt_data *data = tool_open_data(t, NULL, &code);
    if (data == NULL)
        return code;
    code = tool_finish(t, takt_data_describe(data, tool_format_of(t), tool_to_screen, t));
    takt_data_destroy(data);
    return code;
}

const takt_verb takt_verb_data = {
    .name = "data",
    .task = TAKT_TASK_TRAIN,
    .summary = "describe a data set: samples, types, classes, mean and deviation",
    .arguments = "DATA",
    .about = "DATA is a file, a folder, or the name of a known data set such as mnist: --list\n"
             "prints their names and where each is searched for.",
    .arg_min = 0,
    .arg_max = 1,
    .example = "takt data examples/spirals.csv",
    .flags = {TAKT_F_LIST, TAKT_F_SPLIT, TAKT_F_LABEL, TAKT_F_MISSING, TAKT_F_WINDOW,
              TAKT_F_SAMPLES, TAKT_F_DATA_CACHE, TAKT_FLAG_IDS},
    .run = run,
};
