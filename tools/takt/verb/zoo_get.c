/* zoo_get.c - a model of the zoo as a file, if its SHA-256 matches the recipe. */
#include <string.h>

#include "zoo.h"

static int save(takt_tool *t, const tool_zoo_model *m, const takt_model *model, const char *path)
{
    char hex[TOOL_ZOO_HEX], command[96];
    int code = tool_finish(t, tool_zoo_digest(t, model, hex));
    if (code != TAKT_EXIT_OK)
        return code;
    if (strcmp(hex, m->sha256) != 0) {
        fprintf(stderr, "error: %s has SHA-256 %s, its recipe says %s\n", m->weights, hex,
                m->sha256);
        return TAKT_EXIT_FAILED;
    }
    snprintf(command, sizeof command, "takt zoo get %s", m->name);
    const takt_save_options options = {.source = m->weights, .command = command};
    code = tool_finish(t, takt_model_save(model, path, &options));
    if (code == TAKT_EXIT_OK && !tool_on(t, TAKT_F_QUIET) && !tool_on(t, TAKT_F_JSON))
        printf("%s: %s, sha256 %s\n", path, m->name, hex);
    return code;
}

static int run(takt_tool *t)
{
    tool_zoo_model m;
    takt_model *model = NULL;
    char fallback[96];
    if (!tool_zoo_find(t, t->args[0], &m))
        return TAKT_EXIT_USAGE;
    snprintf(fallback, sizeof fallback, "%s.taktp", m.name);
    const char *given = tool_text_of(t, TAKT_F_MODEL_FILE);
    const char *path = given != NULL ? given : fallback;
    if (!tool_model_ending(t, path))
        return TAKT_EXIT_USAGE;
    int code = tool_finish(t, takt_model_load(t->ctx, m.weights, NULL, &model));
    if (code == TAKT_EXIT_OK)
        code = save(t, &m, model, path);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_zoo_get = {
    .name = "zoo-get",
    .task = TAKT_TASK_TRAIN,
    .summary = "write a model of the zoo to a file",
    .arguments = "NAME [-o F]",
    .arg_min = 1,
    .arg_max = 1,
    .about = "Compares the SHA-256 of the model with the one in its recipe, then writes it in the\n"
             "format of the extension; default NAME.taktp. `takt convert zoo:NAME -o - |\n"
             "sha256sum` computes the same.",
    .example = "takt zoo get gesture -o gesture.tflite",
    .flags = {TAKT_F_MODEL_FILE, TAKT_FLAG_IDS},
    .run = run,
};
