/* zoo_list.c - the models that come with Takt. */
#include <sys/stat.h>

#include "zoo.h"

static void row(const takt_tool *t, const tool_zoo_model *m, bool is_first)
{
    struct stat s = {0};
    (void)stat(m->weights, &s);
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%-16s %-8s %-10s %7.1f kB  %-20s %s\n", m->name, m->category, m->data,
               (double)s.st_size / 1000, m->score, m->task);
        return;
    }
    const char *const pairs[][2] = {{"name", m->name},     {"category", m->category},
                                    {"task", m->task},     {"data", m->data},
                                    {"source", m->source}, {"score", m->score},
                                    {"floats", m->floats}, {"sha256", m->sha256},
                                    {"chance", m->chance}, {"note", m->note}};
    printf("%s{", is_first ? "" : ", ");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        printf("%s\"%s\": ", i > 0 ? ", " : "", pairs[i][0]);
        tool_print_string(stdout, pairs[i][1]);
    }
    printf(", \"bytes\": %lld}", (long long)s.st_size);
}

static int run(takt_tool *t)
{
    static char names[TOOL_ZOO_MOST][64];
    const int count = tool_zoo_names(names);
    tool_zoo_model m;
    if (count < 0)
        return tool_zoo_find(t, "", &m) ? TAKT_EXIT_FAILED : TAKT_EXIT_USAGE;
    printf("%s", tool_on(t, TAKT_F_JSON) ? "[" : "");
    for (int i = 0; i < count; i++) {
        if (!tool_zoo_find(t, names[i], &m))
            return TAKT_EXIT_USAGE;
        row(t, &m, i == 0);
    }
    printf("%s", tool_on(t, TAKT_F_JSON) ? "]\n" : "");
    return TAKT_EXIT_OK;
}

const takt_verb takt_verb_zoo_list = {
    .name = "zoo-list",
    .task = TAKT_TASK_TRAIN,
    .summary = "list the trained models that come with Takt",
    .arguments = "",
    .about = "Name, category, kind of data, bytes in int8, score on held-out samples, and task.\n"
             "zoo:NAME can be used in place of any model file.",
    .example = "takt zoo list",
    .flags = {TAKT_FLAG_IDS},
    .run = run,
};
