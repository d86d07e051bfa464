/* zoo_show.c - one model of the zoo: its purpose, and how it was made. */
#include "zoo.h"

static int run(takt_tool *t)
{
    tool_zoo_model m;
    char line[1024];
    if (!tool_zoo_find(t, t->args[0], &m))
        return TAKT_EXIT_USAGE;
    const char *const pairs[][2] = {
        {"category", m.category}, {"task", m.task},     {"data", m.data},     {"source", m.source},
        {"note", m.note},         {"train", m.train},   {"calib", m.calib},   {"floats", m.floats},
        {"score", m.score},       {"chance", m.chance}, {"sha256", m.sha256}, {"file", m.weights}};
    const bool json = tool_on(t, TAKT_F_JSON);
    printf("%s", json ? "{" : "");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!json) {
            if (pairs[i][1][0] != '\0')
                printf("%-9s %s\n", pairs[i][0], pairs[i][1]);
            continue;
        }
        printf("%s\"%s\": ", i > 0 ? ", " : "", pairs[i][0]);
        tool_print_string(stdout, pairs[i][1]);
    }
    printf("%s\n", json ? "}" : "");
    FILE *f = json ? NULL : fopen(m.text, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        printf("%s", line);
    if (f != NULL)
        (void)fclose(f);
    return TAKT_EXIT_OK;
}

const takt_verb takt_verb_zoo_show = {
    .name = "zoo-show",
    .task = TAKT_TASK_TRAIN,
    .summary = "show the text of a zoo model, and how it was made",
    .arguments = "NAME",
    .arg_min = 1,
    .arg_max = 1,
    .example = "takt zoo show gesture",
    .flags = {TAKT_FLAG_IDS},
    .run = run,
};
