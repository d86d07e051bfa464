/* run_files.c - the inputs and outputs of a run: files, random numbers, standard output. */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "media.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- inputs ---- */

/* Index of the model's input called so, or -1. */
static int input_index(const tool_run *r, const char *name)
{
    for (size_t i = 0; i < r->input_count; i++)
        if (strcmp(takt_model_input(r->model, i)->name, name) == 0)
            return (int)i;
    return -1;
}

static int no_such_port(const tool_run *r, const char *what, const char *name, bool is_input)
{
    const char *names[64];
    char hint[160] = "`takt inspect` shows what it has";
    const size_t count = is_input ? r->input_count : takt_model_output_count(r->model);
    size_t known = 0;
    for (; known < count && known < sizeof names / sizeof *names; known++)
        names[known] = is_input ? takt_model_input(r->model, known)->name
                                : takt_model_output(r->model, known)->name;
    const int nearest = takt_nearest(name, names, known);
    if (nearest >= 0)
        snprintf(hint, sizeof hint, "did you mean %.100s?", names[nearest]);
    else if (known == 1)
        snprintf(hint, sizeof hint, "its only one is %.100s", names[0]);
    return tool_usage_error(r->t, 1002, hint, "the model has no %s called %s", what, name);
}

/* As NumPy calls it; types that it has not are kept in bytes. */
static const char *numpy_name(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F64: return "'float64'";
    case TAKT_F32: return "'float32'";
    case TAKT_F16: return "'float16'";
    case TAKT_I64: return "'int64'";
    case TAKT_I32: return "'int32'";
    case TAKT_I16: return "'int16'";
    case TAKT_I8: return "'int8'";
    case TAKT_U64: return "'uint64'";
    case TAKT_U32: return "'uint32'";
    case TAKT_U16: return "'uint16'";
    case TAKT_U8: return "'uint8'";
    case TAKT_BOOL: return "'bool'";
    default: return "its type";
    }
}

static bool is_relation(const takt_model *model, const char *name)
{
    takt_relation about;
    for (size_t i = 0; i < takt_model_relation_count(model); i++)
        if (takt_model_relation(model, i, &about) == TAKT_OK && strcmp(about.name, name) == 0)
            return true;
    return false;
}

static int load_one(tool_run *r, int index, const char *path)
{
    takt_tensor_view *view = &r->inputs[index];
    const takt_desc *d = takt_model_input(r->model, (size_t)index);
    if (tool_input_given(r, (size_t)index))
        return tool_usage_error(r->t, 1003, NULL, "input %s is given twice", d->name);
    if (tool_is_media(path)) {
        const int code = tool_load_media(r->t, d, path, view, &r->said[index]);
        return code != TAKT_EXIT_OK ? code
               : tool_sizes_from(r->t, &r->sizes, d, view->rank, view->dims, path)
                   ? TAKT_EXIT_OK
                   : TAKT_EXIT_USAGE;
    }
    const bool is_cut = r->cut != NULL && d->rank > 0 && d->dim_names[0] != NULL &&
                        strcmp(d->dim_names[0], r->cut) == 0;
    const bool is_facts =
        is_relation(r->model, d->name) && (ends_with(path, ".tsv") || ends_with(path, ".csv"));
    const takt_status status =
        is_facts                            ? takt_relation_load(r->model, d->name, path, view)
        : is_cut && ends_with(path, ".npy") ? takt_npy_open(r->t->ctx, path, &r->files[index], view)
        : r->cut != NULL                    ? takt_view_load(r->t->ctx, path, d->name, view)
                         : takt_view_load_ordered(r->t->ctx, path, d->name, view);
    if (status != TAKT_OK)
        return tool_finish(r->t, status);
    if (view->dtype != d->dtype) {
        char hint[160];
        snprintf(hint, sizeof hint,
                 "Takt never converts silently: numpy.save(file, %.40s.astype(%s))", d->name,
                 numpy_name(d->dtype));
        return tool_usage_error(r->t, 1003, hint, "input %s is %s, in %s it is %s", d->name,
                                takt_dtype_name(d->dtype), path, takt_dtype_name(view->dtype));
    }
    return tool_sizes_from(r->t, &r->sizes, d, view->rank, view->dims, path) ? TAKT_EXIT_OK
                                                                             : TAKT_EXIT_USAGE;
}

/* NAME=FILE; FILE alone if there is only one input, or if it is an archive with all of them. */
static int load_item(tool_run *r, const char *item)
{
    char name[TOOL_NAME];
    const char *path = tool_after_name(item, '=', false, name);
    if (path != NULL) {
        const int index = input_index(r, name);
        return index >= 0 ? load_one(r, index, path) : no_such_port(r, "input", name, true);
    }
    if (r->input_count != 1 && !ends_with(item, ".npz"))
        return tool_usage_error(r->t, 1003, "write -i NAME=FILE",
                                "the model has %zu inputs: which is %s?", r->input_count, item);
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < r->input_count && code == TAKT_EXIT_OK; i++)
        code = load_one(r, (int)i, item);
    return code;
}

/* For what is said after a plan has taken the model. */
static bool copy_names(tool_run *r)
{
    r->name = strdup(takt_model_name(r->model));
    r->names = calloc(r->input_count + 1, sizeof *r->names);
    bool good = r->name != NULL && r->names != NULL;
    for (size_t i = 0; i < r->input_count && good; i++)
        good = (r->names[i] = strdup(takt_model_input(r->model, i)->name)) != NULL;
    return good;
}

int tool_load_inputs(tool_run *r)
{
    const char *item;
    r->input_count = takt_model_input_count(r->model);
    r->inputs = calloc(r->input_count + 1, sizeof *r->inputs);
    r->files = calloc(r->input_count + 1, sizeof *r->files);
    r->is_random = calloc(r->input_count + 1, sizeof *r->is_random);
    r->said = calloc(r->input_count + 1, sizeof *r->said);
    if (r->inputs == NULL || r->files == NULL || r->is_random == NULL || r->said == NULL ||
        !copy_names(r))
        return tool_finish(r->t, TAKT_ERR_MEMORY);
    media_image how;
    if (!tool_sizes_init(r->t, r->model, &r->sizes) || !media_read_options(r->t, &how))
        return TAKT_EXIT_USAGE;
    size_t given = 0;
    for (; (item = tool_item_of(r->t, TAKT_F_INPUT, given)) != NULL; given++) {
        const int code = load_item(r, item);
        if (code != TAKT_EXIT_OK)
            return code;
    }
    for (size_t i = 0; i < r->input_count; i++) {
        const char *name = takt_model_input(r->model, i)->name;
        const bool is_static = tool_is_static(r->t, name);
        if (tool_input_given(r, i) && is_static)
            return tool_usage_error(r->t, 1003, NULL, "input %s is given by -i and --static", name);
        if (tool_input_given(r, i) || is_static)
            continue;
        r->is_random[i] = true;
        r->random_count++;
        if ((given > 0 || r->needs_all) && !r->may_lack && !tool_on(r->t, TAKT_F_RANDOM))
            return tool_usage_error(r->t, 1003, "give it with -i, or let --random fill it",
                                    "there is no file for input %s", name);
    }
    return TAKT_EXIT_OK;
}

bool tool_input_given(const tool_run *r, size_t i)
{
    return r->inputs[i].data != NULL || r->files[i] != NULL;
}

void tool_free_inputs(tool_run *r)
{
    for (size_t i = 0; r->inputs != NULL && r->files != NULL && i < r->input_count; i++) {
        takt_view_free(r->t->ctx, &r->inputs[i]);
        takt_npy_close(r->files[i]);
    }
    for (size_t i = 0; r->names != NULL && i < r->input_count; i++)
        free(r->names[i]);
    for (size_t i = 0; r->said != NULL && i < r->input_count; i++)
        free(r->said[i]);
    free(r->said);
    free(r->names);
    free(r->name);
    free(r->inputs);
    free(r->files);
    free(r->is_random);
}

int tool_bind_inputs(tool_run *r, takt_session *s)
{
    const uint64_t seed = tool_number_of(r->t, TAKT_F_SEED, 0);
    size_t index = 0; /* of the session, which has no static inputs */
    for (size_t i = 0; i < r->input_count; i++) {
        const char *name = r->names[i];
        if (tool_is_static(r->t, name))
            continue;
        const size_t at = index++;
        if (r->inputs[i].data != NULL) {
            if (takt_session_bind(s, name, &r->inputs[i]) != TAKT_OK)
                return tool_report_error(r->t, takt_session_error(s));
            continue;
        }
        const takt_tensor_view *own = takt_session_input(s, at);
        if (own == NULL)
            return tool_report_error(r->t, takt_session_error(s));
        r->inputs[i] = *own; /* for the message; the memory stays the session's */
        r->inputs[i].data = NULL;
        const int code = tool_finish(r->t, takt_session_random(s, at, own, seed, (uint32_t)i));
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}

/* ---- outputs ---- */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Standard output is a file on a full disk, or a pipe that nobody reads. */
static int no_room(const takt_tool *t)
{
    takt_error e = {.status = TAKT_ERR_IO, .id = 3003, .offset = -1};
    snprintf(e.message, sizeof e.message, "cannot write standard output: %s",
             errno != 0 ? strerror(errno) : "it takes no more");
    return tool_report_error(t, &e);
}

static int save_one(tool_run *r, const tool_results *o, size_t index, const char *path,
                    bool *printed)
{
    const takt_tensor_view *view = &o->views[index];
    if (o->paths[index][0] != '\0')
        return TAKT_EXIT_OK; /* it is there already */
    if (ends_with(path, ".tsv"))
        return tool_finish(r->t, takt_relation_save(r->model, o->names[index], view, path));
    if (strcmp(path, "-") != 0)
        return tool_finish(r->t, takt_npy_save(r->t->ctx, path, view));
    *printed = true;
    errno = 0;
    const takt_status status = takt_npy_write(r->t->ctx, view, tool_to_raw, NULL);
    return status == TAKT_ERR_IO ? no_room(r->t) : tool_finish(r->t, status);
}

static bool folder_path(const char *folder, const char *name, char path[1024])
{
    const int length = snprintf(path, 1024, "%s/%s.npy", folder, name);
    return strchr(name, '/') == NULL && length > 0 && length < 1024;
}

static int save_folder(tool_run *r, const tool_results *o, const char *folder)
{
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < o->count && code == TAKT_EXIT_OK; i++) {
        char path[1024];
        bool printed;
        if (!folder_path(folder, o->names[i], path))
            return tool_usage_error(r->t, 1003, "write -o NAME=FILE",
                                    "output %s cannot be a file's name", o->names[i]);
        code = tool_spares(r->t, path) ? save_one(r, o, i, path, &printed) : TAKT_EXIT_USAGE;
    }
    return code;
}

static int save_item(tool_run *r, const tool_results *o, const char *item, bool *printed)
{
    char name[TOOL_NAME];
    const char *file = tool_after_name(item, '=', false, name);
    const size_t count = o->count;
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
        if (strcmp(o->names[i], name) == 0 && ends_with(file, ".npz"))
            return tool_finish(r->t, takt_npz_save(r->t->ctx, file, &o->names[i], &o->views[i], 1));
        else if (strcmp(o->names[i], name) == 0)
            return save_one(r, o, i, file, printed);
    return no_such_port(r, "output", name, false);
}

/* By its ending; a name without one may be that of an array or of a folder. */
static bool is_taken(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = name[0] != '\0' ? strrchr(name + 1, '.') : NULL;
    return dot == NULL || strcmp(dot, ".npy") == 0 || strcmp(dot, ".npz") == 0 ||
           strcmp(dot, ".tsv") == 0 || is_folder(path);
}

/* The run may be long: a missing folder is reported before it. */
static int check_folder(const takt_tool *t, const char *path)
{
    char folder[1024];
    const char *slash = strrchr(path, '/');
    const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    if (length == 0 || length >= sizeof folder)
        return TAKT_EXIT_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    if (is_folder(folder))
        return TAKT_EXIT_OK;
    takt_error e = {.status = TAKT_ERR_IO, .id = 3003, .offset = -1};
    snprintf(e.message, sizeof e.message, "cannot write %.400s: there is no folder %.400s", path,
             folder);
    return tool_report_error(t, &e);
}

int tool_check_outputs(const takt_tool *t)
{
    const char *path;
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; (path = tool_file_of(t, TAKT_F_OUTPUT, i)) != NULL && code == TAKT_EXIT_OK;
         i++)
        code =
            is_taken(path)
                ? check_folder(t, path)
                : tool_usage_error(
                      t, 1003,
                      "write -o F.npy, F.npz, a folder that is there, F.tsv for a relation, or - "
                      "for standard output; --json prints values",
                      "results are arrays of NumPy, %s would be none by its ending", path);
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
        char name[TOOL_NAME];
        const char *named = tool_after_name(item, '=', false, name);
        const char *file = named != NULL ? named : item;
        if (named != NULL && strcmp(o->names[i], name) != 0)
            continue;
        if (strcmp(file, "-") == 0 || ends_with(file, ".npz"))
            return false;
        const bool fits = named == NULL && is_folder(file) ? folder_path(file, o->names[i], path)
                                                           : strlen(file) < 1024;
        if (!fits || (named == NULL && !is_folder(file) && o->count != 1))
            return false;
        if (named != NULL || !is_folder(file))
            strcpy(path, file);
        found++;
    }
    return found == 1;
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
