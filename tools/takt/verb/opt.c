/* opt.c - the effect of the passes on a model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measure.h"

typedef struct emitter {
    const takt_tool *t;
    const char *folder;
    int code; /* of a failure, which is printed */
} emitter;

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    const size_t length = strlen(text);
    const bool good = fwrite(text, 1, length, file) == length;
    return fclose(file) == 0 && good;
}

/* 01-cse.takt, 02-canonicalize.takt, ... */
static takt_status emit(void *user, size_t index, const char *pass, const char *text)
{
    emitter *e = user;
    char path[1024];
    const int length = snprintf(path, sizeof path, "%s/%02zu-%s.takt", e->folder, index + 1, pass);
    const bool fits = length > 0 && (size_t)length < sizeof path;
    if (fits && !tool_spares(e->t, path)) {
        e->code = TAKT_EXIT_USAGE;
        return TAKT_ERR_ARGUMENT;
    }
    errno = ENAMETOOLONG;
    if (fits && write_text(path, text))
        return TAKT_OK;
    e->code = tool_cannot_write(e->t, path);
    return TAKT_ERR_IO;
}

static int optimize(takt_tool *t, const takt_model *m)
{
    tool_sizes sizes;
    if (!tool_sizes_init(t, m, &sizes))
        return TAKT_EXIT_USAGE;
    emitter e = {.t = t, .folder = tool_text_of(t, TAKT_F_EMIT_EACH_PASS)};
    char *passes = tool_joined(t, TAKT_F_PASS);
    const takt_opt_options options = {
        .passes = passes,
        .sizes = sizes.text,
        .trace = tool_on(t, TAKT_F_TRACE),
        .types = tool_on(t, TAKT_F_TYPES),
        .full = tool_on(t, TAKT_F_FULL),
        .trainable = tool_on(t, TAKT_F_TRAINABLE),
        .each = e.folder != NULL ? emit : NULL,
        .each_user = &e,
    };
    if (e.folder != NULL)
        (void)mkdir(e.folder, 0777); /* may exist; if not writable, writing fails */
    const takt_status status =
        takt_model_optimize(m, &options, tool_format_of(t), tool_to_stdout, NULL);
    free(passes);
    return e.code != TAKT_EXIT_OK ? e.code : tool_finish(t, status);
}

static int run(takt_tool *t)
{
    int code;
    if (tool_on(t, TAKT_F_LIST))
        return tool_finish(t, takt_pass_list(t->ctx, tool_format_of(t), tool_to_screen, t));
    if (t->arg_count == 0 && tool_text_of(t, TAKT_F_MODEL) == NULL)
        return tool_usage_error(t, 1003, "`takt opt --list` lists the passes",
                                "takt opt needs MODEL");
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = optimize(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_opt = {
    .name = "opt",
    .task = TAKT_TASK_MAKE,
    .summary = "show the graph after the passes, and each rule that fired",
    .arguments = "MODEL",
    .arg_min = 0,
    .arg_max = 1,
    .about = "Prints the graph in text form; takt can read it back if --full is given.",
    .example = "takt opt --pass=-fold-weights --trace examples/cnn.takt",
    .often = (const tool_flag_id[]){TAKT_F_PASS, TAKT_F_TRACE, TAKT_F_LIST, TAKT_F_TYPES,
                                    TAKT_F_FULL, TAKT_F_TRAINABLE, TAKT_F_EMIT_EACH_PASS,
                                    TAKT_F_WEIGHTS, TAKT_F_DIM, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_PASS, TAKT_F_TRACE, TAKT_F_LIST, TAKT_F_TYPES,
              TAKT_F_FULL, TAKT_F_TRAINABLE, TAKT_F_EMIT_EACH_PASS, TAKT_FLAG_IDS},
    .run = run,
};
