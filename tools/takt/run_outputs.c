/* run_outputs.c - where the results of a run go: files, folders, standard output. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int save_one(tool_run *r, const tool_results *o, size_t index, const char *path,
                    bool *printed)
{
    const takt_tensor_view *view = &o->views[index];
    if (o->paths[index][0] != '\0')
        return TAKT_EXIT_OK; /* it exists already */
    if (ends_with(path, ".tsv"))
        return tool_finish(r->t, takt_relation_save(r->model, o->names[index], view, path));
    if (strcmp(path, "-") != 0)
        return tool_finish(r->t, takt_npy_save(r->t->ctx, path, view));
    *printed = true;
    const takt_status status = takt_npy_write(r->t->ctx, view, tool_to_raw, NULL);
    return status == TAKT_ERR_IO ? tool_output_failed(r->t) : tool_finish(r->t, status);
}

/* FOLDER/OUTPUT.npy; of several files FOLDER/FILE.OUTPUT.npy. */
static bool folder_path(const tool_run *r, const char *folder, const char *name, char path[1024])
{
    char stem[1024] = "";
    if (r->sets > 1 && !tool_set_name(r, "{}.", stem))
        return false;
    const int length = snprintf(path, 1024, "%s/%s%s.npy", folder, stem, name);
    return strchr(name, '/') == NULL && length > 0 && length < 1024;
}

static int save_folder(tool_run *r, const tool_results *o, const char *folder)
{
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < o->count && code == TAKT_EXIT_OK; i++) {
        char path[1024];
        bool printed;
        if (!folder_path(r, folder, o->names[i], path))
            return tool_usage_error(r->t, 1003, "write -o NAME=FILE",
                                    "output %s cannot be a file's name", o->names[i]);
        code = tool_spares(r->t, path) ? save_one(r, o, i, path, &printed) : TAKT_EXIT_USAGE;
    }
    return code;
}

static int save_item(tool_run *r, const tool_results *o, const char *written, bool *printed)
{
    char name[TOOL_NAME], item[1024];
    const char *file = tool_after_name(written, '=', false, name);
    const size_t count = o->count;
    if (!tool_set_name(r, file != NULL ? file : written, item))
        return TAKT_EXIT_USAGE;
    if (file == NULL) {
        if (is_folder(item))
            return save_folder(r, o, item);
        if (ends_with(item, ".npz"))
            return tool_finish(r->t, takt_npz_save(r->t->ctx, item, o->names, o->views, count));
        if (count == 1)
            return save_one(r, o, 0, item, printed);
        return tool_usage_error(r->t, 1003, "write -o NAME=FILE, -o FOLDER or -o ALL.npz",
                                "the model has %zu outputs: which one goes to %s?", count, item);
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(o->names[i], name) == 0 && ends_with(item, ".npz"))
            return tool_finish(r->t, takt_npz_save(r->t->ctx, item, &o->names[i], &o->views[i], 1));
        else if (strcmp(o->names[i], name) == 0)
            return save_one(r, o, i, item, printed);
    return tool_no_such_port(r, "output", name, false);
}

/* Decided by its ending; a name without one may be an array or a folder. */
static bool is_taken(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = name[0] != '\0' ? strrchr(name + 1, '.') : NULL;
    return dot == NULL || strcmp(dot, ".npy") == 0 || strcmp(dot, ".npz") == 0 ||
           strcmp(dot, ".tsv") == 0 || is_folder(path);
}

static int check_output(const takt_tool *t, const char *item, const char *path)
{
    if (path[0] == '\0' || item[0] == '=')
        return tool_usage_error(t, 1003, "write -o F.npy, or -o NAME=F.npy for one of the outputs",
                                "-o %s has no %s", item, path[0] == '\0' ? "file" : "name");
    if (strcmp(path, "-") == 0 && tool_on(t, TAKT_F_JSON))
        return tool_usage_error(t, 1003, "write the array to a file, or leave one of them out",
                                "--json and -o - both write to standard output");
    return is_taken(path)
               ? TAKT_EXIT_OK
               : tool_usage_error(
                     t, 1003,
                     "write -o F.npy, F.npz, an existing folder, F.tsv for a relation, or - for "
                     "standard output; --json prints values",
                     "results are written as .npy or .npz, and %s ends with neither", path);
}

int tool_check_outputs(const takt_tool *t)
{
    const char *item;
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_OUTPUT, i)) != NULL && code == TAKT_EXIT_OK;
         i++)
        code = check_output(t, item, tool_file_of(t, TAKT_F_OUTPUT, i));
    return code;
}

int tool_save_outputs(tool_run *r, const tool_results *o, bool *printed)
{
    const char *item;
    *printed = false;
    for (size_t i = 0; (item = tool_item_of(r->t, TAKT_F_OUTPUT, i)) != NULL; i++) {
        const int code = save_item(r, o, item, printed);
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}

bool tool_output_file(const tool_run *r, const tool_results *o, size_t i, char path[1024])
{
    const char *item;
    size_t found = 0;
    for (size_t k = 0; (item = tool_item_of(r->t, TAKT_F_OUTPUT, k)) != NULL; k++) {
        char name[TOOL_NAME], file[1024];
        const char *named = tool_after_name(item, '=', false, name);
        if (!tool_set_name(r, named != NULL ? named : item, file))
            return false;
        if (named != NULL && strcmp(o->names[i], name) != 0)
            continue;
        if (strcmp(file, "-") == 0 || ends_with(file, ".npz"))
            return false;
        if ((named == NULL && is_folder(file) && !folder_path(r, file, o->names[i], path)) ||
            (named == NULL && !is_folder(file) && o->count != 1))
            return false;
        if (named != NULL || !is_folder(file))
            strcpy(path, file);
        found++;
    }
    return found == 1;
}

/* ---- all files beforehand ---- */

/* Adds the files that `written` of -o makes of this run. */
static int list_item(const tool_run *r, const char *written, tool_paths *to)
{
    char name[TOOL_NAME], path[1024];
    const char *file = tool_after_name(written, '=', false, name);
    if (!tool_set_name(r, file != NULL ? file : written, path))
        return TAKT_EXIT_USAGE;
    if (file != NULL || !is_folder(path))
        return tool_paths_add(r->t, to, path);
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < takt_model_output_count(r->model) && code == TAKT_EXIT_OK; i++) {
        char inside[1024];
        if (folder_path(r, path, takt_model_output(r->model, i)->name, inside))
            code = tool_paths_add(r->t, to, inside);
    }
    return code;
}

int tool_list_outputs(const tool_run *r, tool_paths *to)
{
    const char *item;
    int code = TAKT_EXIT_OK;
    for (size_t i = 0;
         code == TAKT_EXIT_OK && (item = tool_item_of(r->t, TAKT_F_OUTPUT, i)) != NULL; i++)
        code = list_item(r, item, to);
    return code;
}

/* ---- results ---- */

bool tool_results_init(tool_results *o, size_t count)
{
    *o = (tool_results){.count = count,
                        .names = calloc(count + 1, sizeof *o->names),
                        .views = calloc(count + 1, sizeof *o->views),
                        .paths = calloc(count + 1, sizeof *o->paths)};
    return o->names != NULL && o->views != NULL && o->paths != NULL;
}

void tool_results_free(tool_results *o)
{
    free(o->names);
    free(o->views);
    free(o->paths);
}
