/* shrink.c - shared by the verbs that make smaller models. */
#define _POSIX_C_SOURCE 200809L
#include "shrink.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "train.h"

bool tool_shrink_data(takt_tool *t, tool_flag_id id, const char *split, uint64_t limit,
                      takt_data **data, int *code)
{
    const char *path = tool_text_of(t, id);
    takt_data_options options = {.split = split,
                                 .limit = limit,
                                 .label = tool_text_of(t, TAKT_F_LABEL),
                                 .window = (int64_t)tool_number_of(t, TAKT_F_WINDOW, 0)};
    char found[TOOL_DATA_PATH];
    *data = NULL;
    if (path == NULL)
        return true;
    *code = TAKT_EXIT_USAGE;
    if (!tool_real(t, TAKT_F_SCALE, 1e-30, 1e30, &options.scale) || !tool_data_find(t, path, found))
        return false;
    *code = tool_finish(t, takt_data_open(t->ctx, found, &options, data));
    return *code == TAKT_EXIT_OK;
}

bool tool_keep_init(takt_tool *t, tool_keep *keep)
{
    const char *text = tool_text_of(t, TAKT_F_KEEP);
    *keep = (tool_keep){.is_given = false};
    if (text == NULL)
        return true;
    const int code = regcomp(&keep->regex, text, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[128];
        regerror(code, &keep->regex, why, sizeof why);
        tool_usage_error(t, 1003, "names of layers are matched, as in --keep 'dense_[02]'",
                         "--keep %s: %s", text, why);
        return false;
    }
    keep->is_given = true;
    return true;
}

bool tool_keeps(void *user, const char *layer)
{
    tool_keep *keep = user;
    const bool is_kept = keep->is_given && regexec(&keep->regex, layer, 0, NULL, 0) == 0;
    keep->has_matched = keep->has_matched || is_kept;
    return is_kept;
}

int tool_keep_check(takt_tool *t, const tool_keep *keep, int code)
{
    if (code != TAKT_EXIT_OK || !keep->is_given || keep->has_matched)
        return code;
    return tool_usage_error(t, 1003, "`takt quantize MODEL --type w8` reports the names of layers",
                            "--keep %s matches no layer of the model",
                            tool_text_of(t, TAKT_F_KEEP));
}

void tool_keep_deinit(tool_keep *keep)
{
    if (keep->is_given)
        regfree(&keep->regex);
}

/* A folder has no checksum. */
static bool is_file(const char *path)
{
    struct stat facts;
    return path != NULL && stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool tool_shrink_can_save(const takt_tool *t)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL_FILE);
    return path == NULL || tool_model_ending(t, path);
}

int tool_shrink_model(takt_tool *t, int (*shrink)(takt_tool *t, const takt_model *model))
{
    int code;
    if (!tool_shrink_can_save(t))
        return TAKT_EXIT_USAGE;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = shrink(t, model);
    takt_model_destroy(model);
    return code;
}

int tool_shrink_save(takt_tool *t, const takt_model *model, const char *command,
                     const tool_flag_id *reads, size_t count)
{
    enum { MOST = 8 };
    const char *path = tool_text_of(t, TAKT_F_MODEL_FILE), *files[MOST];
    const char *from = tool_model_path(t), *weights = tool_text_of(t, TAKT_F_WEIGHTS);
    size_t file_count = 0;
    if (path == NULL)
        return TAKT_EXIT_OK;
    if (!tool_model_ending(t, path))
        return TAKT_EXIT_USAGE;
    if (is_file(weights))
        files[file_count++] = weights;
    for (size_t i = 0; i < count && file_count < MOST; i++)
        if (is_file(tool_text_of(t, reads[i])))
            files[file_count++] = tool_text_of(t, reads[i]);
    const takt_save_options options = {.source = is_file(from) ? from : NULL,
                                       .command = command,
                                       .reads = files,
                                       .read_count = file_count};
    const int code = tool_finish(t, takt_model_save(model, path, &options));
    if (code == TAKT_EXIT_OK && !tool_on(t, TAKT_F_QUIET) && !tool_on(t, TAKT_F_JSON))
        printf("%s: %s\n", path, takt_model_name(model));
    return code;
}
